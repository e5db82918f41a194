//! Numbers and texts one after the other in one text.
//!
//! All of it is valid UTF-8: a number is written in groups of six bits, each a character of one
//! byte. So nothing is checked again when a text is cut out, and nothing needs `unsafe`.

/// Set on every group but a number's last.
const MORE: u8 = 1 << 6;

/// The lowest groups come first.
pub(super) fn push_number(out: &mut String, mut number: u64) {
    loop {
        let group = (number % u64::from(MORE)) as u8;
        number /= u64::from(MORE);
        if number == 0 {
            out.push(group.into());
            return;
        }
        out.push((group | MORE).into());
    }
}

/// Small numbers of either sign are short.
pub(super) fn push_signed(out: &mut String, number: i64) {
    push_number(out, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

pub(super) fn push_text(out: &mut String, text: &str) {
    push_number(out, text.len() as u64);
    out.push_str(text);
}

/// Reads what was pushed, in the same order. What is not there reads as zero, or empty: only this
/// crate writes such texts.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn number(&mut self) -> u64 {
        let mut number = 0;
        for (at, byte) in self.0.bytes().enumerate() {
            number |= u64::from(byte % MORE) << (6 * at).min(63);
            if byte < MORE {
                self.0 = self.0.get(at + 1..).unwrap_or_default();
                return number;
            }
        }
        self.0 = "";
        0
    }

    pub(super) fn signed(&mut self) -> i64 {
        let number = self.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }

    pub(super) fn text(&mut self) -> &'a str {
        let len = usize::try_from(self.number()).unwrap_or(usize::MAX);
        let (text, rest) = self.0.split_at_checked(len).unwrap_or_default();
        self.0 = rest;
        text
    }

    /// Everything that is left.
    pub(super) fn rest(self) -> &'a str {
        self.0
    }

    pub(super) fn pairs(mut self) -> impl Iterator<Item = (&'a str, &'a str)> {
        std::iter::from_fn(move || (!self.is_empty()).then(|| (self.text(), self.text())))
    }
}
