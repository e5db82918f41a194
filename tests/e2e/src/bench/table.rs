//! Figures with their spread, as a table.

use std::fmt;

/// Measurements of one thing, in one unit.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a measurement.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// The median; not a number if nothing was measured.
    #[must_use]
    pub fn median(&self) -> f64 {
        let (low, high) = (self.0.len().saturating_sub(1) / 2, self.0.len() / 2);
        match (self.0.get(low), self.0.get(high)) {
            (Some(low), Some(high)) => f64::midpoint(*low, *high),
            _ => f64::NAN,
        }
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.median() < 10.0 { 2 } else { 0 };
        write!(f, "{:.digits$}", self.median())?;
        if let [first, .., last] = self.0[..] {
            write!(f, " ({first:.digits$} to {last:.digits$})")?;
        }
        Ok(())
    }
}

/// The rows, in the order they were measured.
#[derive(Debug, Default)]
pub struct Table(Vec<[String; 5]>);

impl Table {
    /// A figure of ours alone.
    pub fn ours(&mut self, figure: &str, ours: &Samples, goal: &str) {
        self.row(figure, ours.to_string(), "", String::new(), goal);
    }

    /// A figure of ours beside the Go manager's; the ratio is ours to theirs.
    pub fn compared(&mut self, figure: &str, ours: &Samples, go: &Samples, goal: &str) {
        let ratio = format!("{:.2}", ours.median() / go.median());
        self.row(figure, ours.to_string(), &go.to_string(), ratio, goal);
    }

    fn row(&mut self, figure: &str, ours: String, go: &str, ratio: String, goal: &str) {
        self.0.push([
            figure.to_owned(),
            ours,
            go.to_owned(),
            ratio,
            goal.to_owned(),
        ]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        writeln!(f, "{cores} cores; median (spread)\n")?;
        writeln!(f, "| figure | evenkeel | Go | ratio | goal |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for [figure, ours, go, ratio, goal] in &self.0 {
            writeln!(f, "| {figure} | {ours} | {go} | {ratio} | {goal} |")?;
        }
        Ok(())
    }
}
