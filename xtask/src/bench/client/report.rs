//! The figures as a table, a subject a row.

use std::fmt;

use super::measure::Measured;
use crate::bench::table::Samples;

pub(super) struct Report<'a>(pub(super) &'a [(&'a str, Measured<Samples>)]);

const COLUMNS: [&str; 10] = [
    "RSS a pod (kB)",
    "after GC",
    "synced (s)",
    "CPU (s)",
    "CPU an event at 5k/s (µs)",
    "flat out (µs)",
    "events/s flat out",
    "p50, p99, p99.9 at 5k/s (ms)",
    "relist: peak / steady",
    "relist: CPU (s)",
];

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        writeln!(f, "{cores} cores; median (spread)\n")?;
        writeln!(f, "| subject | {} |", COLUMNS.join(" | "))?;
        writeln!(f, "|---|{}", "---|".repeat(COLUMNS.len()))?;
        for (title, measured) in self.0 {
            let (p50, p99, p999) = (&measured.p50, &measured.p99, &measured.p999);
            let times = format!("{}, {}, {}", digits(p50), digits(p99), digits(p999));
            let cells = [
                digits(&measured.resident),
                digits(&measured.collected),
                digits(&measured.synced),
                digits(&measured.synced_cpu),
                digits(&measured.paced_cpu),
                digits(&measured.flat_cpu),
                digits(&measured.flat_rate),
                times,
                digits(&measured.relist),
                digits(&measured.relist_cpu),
            ];
            writeln!(f, "| {title} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}

/// Small figures need more of them.
fn digits(samples: &Samples) -> String {
    match samples.median() {
        Some(median) if median < 10.0 => format!("{samples:.2}"),
        _ => samples.to_string(),
    }
}
