//! Reading the Prometheus text format.

/// The sum of a metric's series that carry all of `labels`; 0 without any.
#[must_use]
pub fn sum(text: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (metric, given) = series.split_once('{').unwrap_or((series, ""));
            let wanted =
                |(key, value): &(&str, &str)| given.contains(&format!("{key}=\"{value}\""));
            (metric == name && labels.iter().all(wanted)).then(|| value.parse::<f64>().ok())?
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn series_add_up_by_label() {
        let text =
            "# HELP a x\na{q=\"x\",r=\"1\"} 2\na{q=\"x\",r=\"2\"} 3\na{q=\"y\"} 4\nab 9\na 1\n";
        assert!((sum(text, "a", &[]) - 10.0).abs() < f64::EPSILON);
        assert!((sum(text, "a", &[("q", "x")]) - 5.0).abs() < f64::EPSILON);
        assert!((sum(text, "a", &[("q", "z")])).abs() < f64::EPSILON);
    }
}
