//! What the figures should be, and whether they are.

use std::fmt;

use super::measure::Measured;
use crate::bench::table::Samples;

pub(super) struct Goals<'a>(pub(super) &'a [(&'a str, Measured<Samples>)]);

type Figure = fn(&Measured<Samples>) -> &Samples;

/// A figure of ours, and how large it may be.
struct Goal {
    ours: &'static str,
    name: &'static str,
    figure: Figure,
    most: Most,
}

enum Most {
    /// This much.
    Of(f64),
    /// This part of another's.
    Ratio(f64, &'static str),
}

const RSS: (&str, Figure) = ("RSS a pod (kB)", |of| &of.resident);
const RELIST: (&str, Figure) = ("relist: peak / steady", |of| &of.relist);
const FLAT: (&str, Figure) = ("CPU an event, flat out", |of| &of.flat_cpu);
const PACED: (&str, Figure) = ("CPU an event, 5k/s", |of| &of.paced_cpu);
const SYNCED: (&str, Figure) = ("time to synced", |of| &of.synced);
const P999: (&str, Figure) = ("p99.9, 5k/s", |of| &of.p999);

const TYPED: &str = "evenkeel typed";
const EXACT: &str = "evenkeel typed, exact capacities";
const METADATA: &str = "evenkeel metadata";
const PROJECTION: &str = "evenkeel projection";
const COMPACT: &str = "evenkeel compact";
const GO_TYPED: &str = "client-go typed, protobuf";
const GO_METADATA: &str = "client-go metadata, protobuf";
const KUBE_TYPED: &str = "kube-rs typed";
const KUBE_METADATA: &str = "kube-rs metadata";

const GOALS: [Goal; 28] = [
    ratio(METADATA, RSS, 1.0 / 8.0, GO_METADATA),
    absolute(METADATA, RSS, 0.6),
    ratio(TYPED, RSS, 0.65, KUBE_TYPED),
    ratio(EXACT, RSS, 1.0 / 2.0, KUBE_TYPED),
    absolute(PROJECTION, RSS, 1.2),
    ratio(COMPACT, RSS, 1.0 / 8.0, GO_TYPED),
    absolute(TYPED, RELIST, 1.1),
    absolute(METADATA, RELIST, 1.1),
    absolute(PROJECTION, RELIST, 1.1),
    absolute(COMPACT, RELIST, 1.1),
    ratio(METADATA, FLAT, 1.0 / 4.0, KUBE_METADATA),
    ratio(METADATA, FLAT, 1.0 / 2.0, GO_METADATA),
    ratio(TYPED, FLAT, 1.0 / 2.0, KUBE_TYPED),
    ratio(TYPED, FLAT, 1.0, GO_TYPED),
    ratio(PROJECTION, FLAT, 1.0 / 4.0, KUBE_TYPED),
    ratio(METADATA, PACED, 1.0, KUBE_METADATA),
    ratio(METADATA, PACED, 1.0, GO_METADATA),
    ratio(TYPED, PACED, 1.0, KUBE_TYPED),
    ratio(TYPED, PACED, 1.0, GO_TYPED),
    ratio(PROJECTION, PACED, 1.0, KUBE_TYPED),
    ratio(TYPED, SYNCED, 1.0 / 3.0, KUBE_TYPED),
    ratio(TYPED, SYNCED, 1.0 / 2.0, GO_TYPED),
    ratio(METADATA, SYNCED, 1.0 / 3.0, KUBE_METADATA),
    ratio(METADATA, SYNCED, 1.0 / 3.0, GO_METADATA),
    ratio(TYPED, P999, 1.0 / 2.0, KUBE_TYPED),
    ratio(TYPED, P999, 1.0 / 2.0, GO_TYPED),
    ratio(METADATA, P999, 1.0 / 2.0, KUBE_METADATA),
    ratio(METADATA, P999, 1.0 / 2.0, GO_METADATA),
];

const fn absolute(ours: &'static str, (name, figure): (&'static str, Figure), most: f64) -> Goal {
    let most = Most::Of(most);
    Goal {
        ours,
        name,
        figure,
        most,
    }
}

const fn ratio(
    ours: &'static str,
    (name, figure): (&'static str, Figure),
    most: f64,
    theirs: &'static str,
) -> Goal {
    let most = Most::Ratio(most, theirs);
    Goal {
        ours,
        name,
        figure,
        most,
    }
}

impl Goals<'_> {
    fn median(&self, title: &str, figure: Figure) -> Option<f64> {
        let (_, measured) = self.0.iter().find(|(found, _)| *found == title)?;
        figure(measured).median()
    }
}

impl fmt::Display for Goals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| subject | figure | goal | is | |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for goal in &GOALS {
            let Some(ours) = self.median(goal.ours, goal.figure) else {
                continue;
            };
            let (text, is, most) = match goal.most {
                Most::Of(most) => (format!("<= {most}"), ours, most),
                Most::Ratio(most, title) => {
                    let Some(theirs) = self.median(title, goal.figure) else {
                        continue;
                    };
                    (format!("<= {most:.2} of {title}"), ours / theirs, most)
                }
            };
            let verdict = if is <= most { "met" } else { "missed" };
            let (ours, name) = (goal.ours, goal.name);
            writeln!(f, "| {ours} | {name} | {text} | {is:.2} | {verdict} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_met_or_missed_or_not_told_of() {
        let measured = |value| {
            let mut measured = Measured::<Samples>::default();
            measured.resident.push(value);
            measured
        };
        let results = [(METADATA, measured(0.5)), (GO_METADATA, measured(2.0))];
        let text = Goals(&results).to_string();
        let rows: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| evenkeel metadata | RSS a pod (kB) | <= 0.12 of client-go metadata, protobuf | 0.25 | missed |",
                "| evenkeel metadata | RSS a pod (kB) | <= 0.6 | 0.50 | met |",
            ]
        );
    }
}
