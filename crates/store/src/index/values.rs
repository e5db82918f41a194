use std::borrow::Cow;

/// Collects the values of one object for one index.
///
/// One value, the common case, costs no allocation.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    first: Option<Cow<'a, str>>,
    more: Vec<Cow<'a, str>>,
}

impl<'a> Values<'a> {
    /// Adds a value. Giving one twice is giving it once.
    pub fn push(&mut self, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        if self.first.is_none() {
            self.first = Some(value);
        } else {
            self.more.push(value);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.first.iter().chain(&self.more).map(AsRef::as_ref)
    }

    pub(crate) fn contains(&self, wanted: &str) -> bool {
        self.iter().any(|value| value == wanted)
    }

    /// Sorts, and drops doubles.
    pub(super) fn normalize(&mut self) {
        if self.more.is_empty() {
            return;
        }
        self.more.extend(self.first.take());
        self.more.sort_unstable();
        self.more.dedup();
        self.first = Some(self.more.remove(0));
    }
}
