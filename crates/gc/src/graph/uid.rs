use std::fmt;
use std::hash::{Hash, Hasher};

use evenkeel_meta::Uid;

/// A UID in 24 bytes: nearly all are UUIDs, whose text would cost twice that and an allocation.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum CompactUid {
    /// The lower-case hyphenated form, which is the only one that comes back as the same text.
    Uuid([u8; 16]),
    /// Whatever else a server wrote.
    Other(Box<str>),
}

const HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// Where the digits of each byte are.
const PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
/// The values of the digits, 255 for what is none.
const VALUES: [u8; 256] = {
    let digits = b"0123456789abcdef";
    let mut values = [255; 256];
    let mut value = 0;
    while value < digits.len() {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values
};

impl CompactUid {
    pub(crate) fn parse(text: &str) -> Self {
        parse_uuid(text.as_bytes()).map_or_else(|| Self::Other(text.into()), Self::Uuid)
    }

    pub(crate) fn to_uid(&self) -> Uid {
        match self {
            Self::Uuid(_) => Uid::from(self.to_string()),
            Self::Other(text) => Uid::from(&**text),
        }
    }
}

impl Hash for CompactUid {
    /// In one step for a UUID: every event begins with looking one up.
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Uuid(bytes) => state.write_u128(u128::from_ne_bytes(*bytes)),
            Self::Other(text) => text.hash(state),
        }
    }
}

fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut bytes = [0; 16];
    let mut wrong = HYPHENS.iter().any(|&at| text[at] != b'-');
    for (byte, at) in bytes.iter_mut().zip(PAIRS) {
        let (high, low) = (
            VALUES[usize::from(text[at])],
            VALUES[usize::from(text[at + 1])],
        );
        wrong |= high | low > 15;
        *byte = (high << 4) + (low & 15);
    }
    (!wrong).then_some(bytes)
}

impl fmt::Display for CompactUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        match self {
            Self::Other(text) => f.write_str(text),
            Self::Uuid(bytes) => {
                let mut text = String::with_capacity(36);
                for byte in bytes {
                    if HYPHENS.contains(&text.len()) {
                        text.push('-');
                    }
                    text.push(char::from(HEX[usize::from(byte >> 4)]));
                    text.push(char::from(HEX[usize::from(byte & 15)]));
                }
                f.write_str(&text)
            }
        }
    }
}

impl fmt::Debug for CompactUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_packed_and_every_text_survives() {
        let canonical = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
        assert!(matches!(CompactUid::parse(canonical), CompactUid::Uuid(_)));
        let others = [
            "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9",
            "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
            "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8fg",
            "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8gg",
            "0a1b2c3d-4e5f-6071-8293a-4b5c6d7e8f9",
            "uid-1",
            "",
        ];
        for text in others {
            assert!(
                matches!(CompactUid::parse(text), CompactUid::Other(_)),
                "{text}"
            );
        }
        for text in others.into_iter().chain([canonical]) {
            assert_eq!(CompactUid::parse(text).to_uid().as_str(), text);
        }
        assert_eq!(size_of::<CompactUid>(), 24);
    }
}
