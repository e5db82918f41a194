use evenkeel_meta::Timestamp;

/// The longest name of an object.
const LONGEST: usize = 253;

/// Makes names of events: the object's, a dot, and the time in 16 hexadecimal digits.
#[derive(Debug, Default)]
pub(crate) struct Names {
    last: u64,
}

impl Names {
    /// No two names of one correlator are alike, even if the clock stands still.
    pub(crate) fn next(&mut self, object: &str, now: Timestamp) -> String {
        // A clock that is centuries off must not end the program.
        let nanos = u64::try_from(now.as_microsecond()).unwrap_or_default();
        let nanos = nanos.checked_mul(1_000).unwrap_or_default();
        self.last = nanos.max(self.last + 1);
        let digits = format!("{:016x}", self.last);
        format!("{}.{digits}", label(object, LONGEST - digits.len() - 1))
    }
}

/// Not every object's name is fit for an event's (client-go E1): a role may be called
/// `system:node`.
fn label(object: &str, longest: usize) -> String {
    let mut name: String = object
        .chars()
        .map(|c| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '-' | '.') => c,
            _ => '-',
        })
        .take(longest)
        .collect();
    // Between dots, names begin and end with a letter or a digit.
    while name.contains("..") || name.contains(".-") || name.contains("-.") {
        name = name
            .replace("..", ".")
            .replace(".-", ".")
            .replace("-.", ".");
    }
    match name.trim_matches(['-', '.']) {
        "" => "event".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kcm_c5_a_name_is_the_objects_and_sixteen_hexadecimal_digits() {
        let mut names = Names::default();
        let now = Timestamp::from_second(1_764_400_000);
        let name = names.next("web-7b4696b95", now);
        assert_eq!(name, "web-7b4696b95.187c6873a9b30000");
        assert_ne!(names.next("web-7b4696b95", now), name);
    }

    #[test]
    fn kcm_c5_names_differ_by_any_clock() {
        let mut names = Names::default();
        let clocks = [0, -62_135_596_800, 253_402_300_799 - 86_400 * 2, 0, 1];
        let made = clocks.map(|second| names.next("web", Timestamp::from_second(second)));
        let distinct: std::collections::BTreeSet<_> = made.iter().collect();
        assert_eq!(distinct.len(), clocks.len(), "{made:?}");
    }

    #[test]
    fn e1_a_name_that_does_not_fit_is_made_to() {
        let mut names = Names::default();
        let mut next = |object: &str| {
            let name = names.next(object, Timestamp::from_second(0));
            name.rsplit_once('.').unwrap().0.to_owned()
        };
        assert_eq!(next("system:node"), "system-node");
        assert_eq!(next("Uno..-:Due-"), "uno.due");
        assert_eq!(next(""), "event");
        assert_eq!(next("::"), "event");
        let mut names = Names::default();
        let long = names.next(&"x".repeat(400), Timestamp::from_second(0));
        assert_eq!(long.len(), LONGEST);
    }
}
