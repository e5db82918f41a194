//! What the kernel says about a process.

use std::fs;

use anyhow::Context;

/// Clock ticks a second in `/proc/<id>/stat`; the same on every Linux.
const TICKS: f64 = 100.0;

/// User and system time so far, in milliseconds.
///
/// # Errors
/// The process is gone.
pub fn cpu_milliseconds(id: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).context("the process is gone")?;
    // The name before it may hold spaces and parentheses.
    let (_, fields) = text.rsplit_once(')').context("stat of another form")?;
    let ticks: f64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    Ok(ticks / TICKS * 1000.0)
}

/// Resident memory, in MB.
///
/// # Errors
/// The process is gone.
pub fn resident_megabytes(id: u32) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).context("the process is gone")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("status without VmRSS")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
