use std::fmt::Write as _;

use crate::measure::Figures;

pub(crate) fn render(ours: &Figures, go: &Figures) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut text = format!(
        "{cores} cores; {} releases and {} kills each; one leader, two standbys, 15 s / 10 s / 2 s\n\n\
         | figure | evenkeel | client-go | ratio | goal |\n|---|---|---|---|---|\n",
        ours.handovers.len(),
        ours.takeovers.len(),
    );
    let mut row = |figure: &str, ours: f64, go: f64, goal: &str| {
        let digits = if ours < 10.0 { 1 } else { 0 };
        let ratio = ours / go;
        let _ = writeln!(
            text,
            "| {figure} | {ours:.digits$} | {go:.digits$} | {ratio:.3} | {goal} |"
        );
    };
    for (name, part, goal) in [("p50", 0.5, ""), ("p99", 0.99, "<= 100")] {
        let figure = format!("handover after a release, {name} (ms)");
        row(
            &figure,
            quantile(&ours.handovers, part),
            quantile(&go.handovers, part),
            goal,
        );
    }
    for (name, part) in [("p50", 0.5), ("longest", 1.0)] {
        let figure = format!("take-over after kill -9, {name} (s)");
        row(
            &figure,
            quantile(&ours.takeovers, part),
            quantile(&go.takeovers, part),
            "",
        );
    }
    row("requests a minute", ours.requests, go.requests, "");
    text
}

/// The smallest of the sorted values that this part of them does not exceed.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}
