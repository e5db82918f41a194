//! UIDs and generated names, from one seed.

use std::time::Duration;

use parking_lot::Mutex;

/// No vowels, and no digits that look like one (kcm C4).
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;
/// 63 characters in all.
const LONGEST_BASE: usize = 58;

/// The server's source of randomness.
#[derive(Debug)]
pub(crate) struct Random(Mutex<fastrand::Rng>);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    /// A random (version 4) UUID.
    pub(crate) fn uid(&self) -> String {
        let bits = self.0.lock().u128(..);
        let versioned = (bits & !(0xf << 76) & !(0x3 << 62)) | 0x4 << 76 | 0x2 << 62;
        let hex = format!("{versioned:032x}");
        let (a, rest) = hex.split_at(8);
        let (b, rest) = rest.split_at(4);
        let (c, rest) = rest.split_at(4);
        let (d, e) = rest.split_at(4);
        format!("{a}-{b}-{c}-{d}-{e}")
    }

    /// A duration below `bound`, in whole seconds.
    pub(crate) fn below(&self, bound: Duration) -> Duration {
        Duration::from_secs(self.0.lock().u64(..bound.as_secs().max(1)))
    }

    /// `base` with five random characters, cut so that the name has 63 at most.
    pub(crate) fn name(&self, base: &str) -> String {
        let end = base
            .char_indices()
            .map(|(at, character)| at + character.len_utf8())
            .take_while(|&end| end <= LONGEST_BASE)
            .last()
            .unwrap_or(0);
        let mut random = self.0.lock();
        let suffix = (0..SUFFIX).map(|_| char::from(ALPHABET[random.usize(..ALPHABET.len())]));
        base[..end].chars().chain(suffix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kcm_c4_generated_names_are_cut_to_63() {
        let random = Random::seeded(1);
        let name = random.name("web-");
        assert!(name.starts_with("web-") && name.len() == 9, "{name}");
        assert!(name[4..].bytes().all(|byte| ALPHABET.contains(&byte)));
        let long = random.name(&"a".repeat(100));
        assert_eq!(long.len(), 63);
        assert_ne!(random.name("web-"), name);
    }

    #[test]
    fn uids_are_version_4_and_reproducible() {
        let uid = Random::seeded(7).uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!(matches!(&uid[19..20], "8" | "9" | "a" | "b"), "{uid}");
        assert_eq!(uid, Random::seeded(7).uid());
    }
}
