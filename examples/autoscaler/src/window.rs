//! How many pods, by what was asked for in a while.

use std::collections::VecDeque;
use std::time::Duration;

use evenkeel::pace::Moment;

/// The most that was asked for within a span of time. So more is given at once, and less only
/// when that has been enough for the whole span.
///
/// It keeps only what may still become the most: as many numbers as the range of replicas has, however
/// often it is told.
#[derive(Debug, Default)]
pub struct Window(VecDeque<(Moment, i32)>);

impl Window {
    /// What is asked for now.
    pub fn note(&mut self, now: Moment, asked: i32) {
        while self.0.back().is_some_and(|(_, before)| *before <= asked) {
            self.0.pop_back();
        }
        self.0.push_back((now, asked));
    }

    /// The most that was asked for since `span` ago; `None` if nothing was.
    pub fn most(&mut self, now: Moment, span: Duration) -> Option<i32> {
        while self.0.front().is_some_and(|(then, _)| now - *then > span) {
            self.0.pop_front();
        }
        self.0.front().map(|(_, asked)| *asked)
    }
}

/// How many pods so much of a metric asks for.
#[must_use]
pub fn pods(reading: f64, per_pod: i32, min: i32, max: i32) -> i32 {
    // A cast ends at the bounds of the type.
    let exact = (reading / f64::from(per_pod.max(1))).ceil();
    within(exact as i32, min, max)
}

/// `pods`, if that is not too few or too many.
#[must_use]
pub fn within(pods: i32, min: i32, max: i32) -> i32 {
    pods.min(max).max(min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(300);

    fn at(seconds: u64) -> Moment {
        Moment::from(Duration::from_secs(seconds))
    }

    #[test]
    fn more_counts_at_once_and_less_after_the_span() {
        let mut window = Window::default();
        assert_eq!(window.most(at(0), SPAN), None);
        let mut told = Vec::new();
        for (second, asked) in [(0, 5), (15, 3), (30, 8), (45, 4), (60, 3), (330, 3)] {
            window.note(at(second), asked);
            told.push(window.most(at(second), SPAN).unwrap());
        }
        assert_eq!(told, [5, 5, 8, 8, 8, 8]);
        window.note(at(331), 3);
        assert_eq!(window.most(at(331), SPAN), Some(4));
        window.note(at(346), 3);
        assert_eq!(window.most(at(346), SPAN), Some(3));
    }

    #[test]
    fn it_stays_small_however_often_it_is_told() {
        let mut window = Window::default();
        for second in 0..100_000 {
            let asked = 10 - i32::try_from(second % 10).unwrap();
            window.note(at(second), asked);
            window.most(at(second), SPAN);
        }
        assert!(window.0.len() <= 10, "{}", window.0.len());
    }

    #[test]
    fn a_part_of_a_pod_is_a_pod_and_the_bounds_hold() {
        for (reading, expected) in [
            (0.0, 2),
            (20.0, 2),
            (20.1, 3),
            (30.0, 3),
            (1e300, 9),
            (f64::INFINITY, 9),
        ] {
            assert_eq!(pods(reading, 10, 2, 9), expected, "{reading}");
        }
        assert_eq!(within(5, 4, 3), 4, "the fewest wins");
    }
}
