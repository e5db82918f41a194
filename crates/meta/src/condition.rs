use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// One finding about an object, of those in `status.conditions` (`metav1.Condition`).
///
/// ```
/// use evenkeel_meta::{Condition, Conditions, Timestamp};
///
/// let mut conditions: Vec<Condition> = Vec::new(); // or of k8s-openapi's type
/// let (ready, now) = (2, Timestamp::from_second(1_800_000_000));
/// let found = Condition::new("Ready", ready == 3, "RollingOut")
///     .message(format!("{ready} of 3 are available"))
///     .observed(Some(7));
/// assert!(conditions.set_condition(found.clone(), now));
/// assert!(!conditions.is_condition_true("Ready"));
///
/// // Later, and still so.
/// assert!(!conditions.set_condition(found, Timestamp::from_second(1_900_000_000)));
/// assert_eq!(conditions[0].last_transition_time, Some(now));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about, as `Ready`; one of each in a list.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The generation of the object that this was found of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Since when the status is what it is. [`set_condition`](Conditions::set_condition) fills it in; the
    /// API server refuses a condition without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// Why, for programs: one word in CamelCase, of letters, digits, `_`, `,` and `:`. The API server
    /// wants it not to be empty.
    pub reason: String,
    /// Why, for people; the API server takes 32,768 characters.
    #[serde(default)]
    pub message: String,
}

/// Whether a [`Condition`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody can tell.
    Unknown,
}

impl ConditionStatus {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Condition {
    /// What was found about `type_`, and the reason for programs.
    pub fn new(
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            type_: type_.into(),
            status: status.into(),
            observed_generation: None,
            last_transition_time: None,
            reason: reason.into(),
            message: String::new(),
        }
    }

    /// With the reason for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Found of this `metadata.generation`.
    #[must_use]
    pub fn observed(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation;
        self
    }
}

/// A condition as a list of them holds it: [`Condition`], or k8s-openapi's type (feature `kube`).
pub trait ConditionEntry {
    /// What it is about.
    fn type_(&self) -> &str;
    /// `True`, `False` or `Unknown`.
    fn status(&self) -> &str;
    /// Since when the status is what it is.
    fn last_transition_time(&self) -> Option<Timestamp>;
    /// `condition`, whose time is set, as an entry.
    fn from_condition(condition: Condition) -> Self;
}

impl ConditionEntry for Condition {
    fn type_(&self) -> &str {
        &self.type_
    }

    fn status(&self) -> &str {
        self.status.as_str()
    }

    fn last_transition_time(&self) -> Option<Timestamp> {
        self.last_transition_time
    }

    fn from_condition(condition: Condition) -> Self {
        condition
    }
}

/// A list of conditions, one of each type.
pub trait Conditions {
    /// What the list is of.
    type Entry: ConditionEntry;

    /// The condition of this type.
    fn condition(&self, type_: &str) -> Option<&Self::Entry>;

    /// Whether the condition of this type is there and holds.
    fn is_condition_true(&self, type_: &str) -> bool {
        self.condition(type_)
            .is_some_and(|one| one.status() == ConditionStatus::True.as_str())
    }

    /// Puts `condition` in the place of the one of its type, or behind all others; whether that
    /// changed anything.
    ///
    /// As long as the status stays the same, so does the time of its last change. Else that is
    /// the condition's own, if it has one, or `now`. In whole seconds, as the API server keeps
    /// it: what is set must be what is read.
    fn set_condition(&mut self, condition: Condition, now: Timestamp) -> bool;

    /// Takes the condition of this type out; whether it was there.
    fn remove_condition(&mut self, type_: &str) -> bool;
}

impl<C: ConditionEntry + PartialEq> Conditions for Vec<C> {
    type Entry = C;

    fn condition(&self, type_: &str) -> Option<&C> {
        self.iter().find(|one| one.type_() == type_)
    }

    fn set_condition(&mut self, mut condition: Condition, now: Timestamp) -> bool {
        let place = self.iter().position(|one| one.type_() == condition.type_);
        let before = place.map(|place| &self[place]);
        let since = before
            .filter(|one| one.status() == condition.status.as_str())
            .and_then(ConditionEntry::last_transition_time)
            .or(condition.last_transition_time)
            .unwrap_or(now);
        condition.last_transition_time = Some(Timestamp::from_second(since.as_second()));
        let after = C::from_condition(condition);
        match place {
            None => self.push(after),
            Some(place) if self[place] == after => return false,
            Some(place) => self[place] = after,
        }
        true
    }

    fn remove_condition(&mut self, type_: &str) -> bool {
        let before = self.len();
        self.retain(|one| one.type_() != type_);
        self.len() < before
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const fn at(second: i64) -> i64 {
        1_800_000_000 + second
    }

    fn ready(status: impl Into<ConditionStatus>, reason: &str) -> Condition {
        Condition::new("Ready", status, reason)
            .message("m")
            .observed(Some(3))
    }

    #[test]
    fn the_time_is_that_of_the_last_change_of_the_status() {
        let mut all = vec![Condition::new("Accepted", true, "Valid")];
        let second = Timestamp::from_second;
        assert!(all.set_condition(ready(false, "Starting"), second(at(1))));
        assert!(!all.set_condition(ready(false, "Starting"), second(at(2))));
        // Another reason, message or generation is written, and no transition.
        assert!(all.set_condition(ready(false, "Waiting"), second(at(3))));
        assert!(all.set_condition(ready(false, "Waiting").observed(Some(4)), second(at(4))));
        assert_eq!(all[1].last_transition_time, Some(second(at(1))));
        assert_eq!(all[1].observed_generation, Some(4));
        assert!(all.set_condition(ready(true, "Done"), second(at(5))));
        assert_eq!(all[1].last_transition_time, Some(second(at(5))));
        assert!(all.is_condition_true("Ready"));
        // One who knows better says so.
        let mut own = ready(ConditionStatus::Unknown, "Lost");
        own.last_transition_time = Some(second(at(6)));
        assert!(all.set_condition(own, second(at(9))));
        assert_eq!(all[1].last_transition_time, Some(second(at(6))));

        assert_eq!(all[0], Condition::new("Accepted", true, "Valid"));
        assert!(all.remove_condition("Accepted"));
        assert!(!all.remove_condition("Accepted"));
        assert!(all.condition("Accepted").is_none());
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn a_fraction_of_a_second_is_no_difference_to_what_was_written() {
        let mut all = Vec::new();
        let now = Timestamp::from_microsecond(at(1) * 1_000_000 + 700_000);
        all.set_condition(ready(true, "Done"), now);
        let text = json!([{"type": "Ready", "status": "True", "observedGeneration": 3,
            "lastTransitionTime": "2027-01-15T08:00:01Z", "reason": "Done", "message": "m"}]);
        assert_eq!(json!(all), text);
        let read: Vec<Condition> = serde_json::from_value(text).unwrap();
        assert_eq!(read, all);
    }
}
