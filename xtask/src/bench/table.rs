//! Figures of several subjects side by side, with their spread and the ratio to the first.

use std::fmt;

use anyhow::Context;

/// Measurements of one thing, in one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// Takes it, if it was measured.
    pub(super) fn extend(&mut self, value: Option<f64>) {
        value.into_iter().for_each(|value| self.push(value));
    }

    /// `None` if it was not measured.
    pub(super) fn median(&self) -> Option<f64> {
        let (low, high) = (self.0.len().checked_sub(1)? / 2, self.0.len() / 2);
        Some(f64::midpoint(self.0[low], self.0[high]))
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(median) = self.median() else {
            return Ok(());
        };
        let usual = if median < 100.0 { 1 } else { 0 };
        let digits = f.precision().unwrap_or(usual);
        write!(f, "{median:.digits$}")?;
        if let [first, .., last] = self.0[..] {
            write!(f, " ({first:.digits$} to {last:.digits$})")?;
        }
        Ok(())
    }
}

/// One figure of every subject; the first subject is ours.
pub(super) struct Row<'a> {
    pub(super) figure: &'a str,
    pub(super) goal: &'a str,
    pub(super) samples: Vec<Samples>,
}

/// The rows as Markdown: ours, then each other one with our ratio to it.
pub(super) struct Table<'a> {
    pub(super) subjects: Vec<&'a str>,
    pub(super) rows: Vec<Row<'a>>,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        writeln!(f, "{cores} cores; median (spread), and ours to theirs\n")?;
        write!(f, "| figure |")?;
        for subject in &self.subjects {
            write!(f, " {subject} |")?;
        }
        writeln!(f, " goal |")?;
        writeln!(f, "|---|{}---|", "---|".repeat(self.subjects.len()))?;
        for Row {
            figure,
            goal,
            samples,
        } in &self.rows
        {
            write!(f, "| {figure} |")?;
            let ours = samples.first().and_then(Samples::median);
            for (at, theirs) in samples.iter().enumerate() {
                write!(f, " {theirs}")?;
                if let (Some(ours), Some(median), 1..) = (ours, theirs.median(), at)
                    && median > 0.0
                {
                    write!(f, ": {:.2}", ours / median)?;
                }
                write!(f, " |")?;
            }
            writeln!(f, " {goal} |")?;
        }
        Ok(())
    }
}

/// The value in a line `name value` of what a program printed.
pub(super) fn value(output: &str, name: &str) -> anyhow::Result<f64> {
    let mut lines = output.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines
        .find(|(found, _)| *found == name)
        .with_context(|| format!("no {name} in the answer"))?;
    value.parse().with_context(|| format!("{name} is {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Samples {
        let mut samples = Samples::default();
        values.iter().for_each(|value| samples.push(*value));
        samples
    }

    #[test]
    fn medians_spreads_and_ratios() {
        let table = Table {
            subjects: vec!["ours", "theirs", "none"],
            rows: vec![Row {
                figure: "add (ns)",
                goal: "<= 1/4",
                samples: vec![
                    samples(&[30.0, 10.0, 20.0]),
                    samples(&[100.0, 300.0]),
                    samples(&[]),
                ],
            }],
        };
        let text = table.to_string();
        let row = text.lines().last();
        assert_eq!(
            row,
            Some("| add (ns) | 20.0 (10.0 to 30.0) | 200 (100 to 300): 0.10 |  | <= 1/4 |")
        );
    }
}
