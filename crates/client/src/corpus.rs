//! Variants of good input, as a fuzzer would try them, but the same ones in every run.
//!
//! Whatever parses what strangers wrote goes through these: it must not panic, must not take
//! memory out of proportion, and must not quote a credential in an error.

use evenkeel_pace::Rng;

/// What stands for a credential in a seed.
pub(crate) const SECRET: &str = "hunter2";

/// Calls `check` with each seed cut at every byte, and with every byte removed or replaced.
/// Nothing is moved, so what is a credential in the seed is none of anything else here.
pub(crate) fn small_changes(seeds: &[&str], mut check: impl FnMut(&[u8])) {
    for seed in seeds {
        let seed = seed.as_bytes();
        for at in 0..seed.len() {
            check(&seed[..at]);
            let mut changed = seed.to_vec();
            const OTHERS: &[u8] = b"\0\"'{[:\n\t&*!\xff";
            match at % 2 {
                0 => drop(changed.remove(at)),
                _ => changed[at] = OTHERS[at / 2 % OTHERS.len()],
            }
            check(&changed);
        }
    }
}

/// Calls `check` with `rounds` mixtures of the seeds: parts moved, repeated, removed, and `words`
/// put in between.
pub(crate) fn mixtures(seeds: &[&str], words: &[&str], rounds: u64, mut check: impl FnMut(&[u8])) {
    for round in 0..rounds {
        let mut rng = Rng::seeded(round);
        let mut text = pick(&mut rng, seeds).as_bytes().to_vec();
        for _ in 0..=below(&mut rng, 4) {
            let at = below(&mut rng, text.len() + 1);
            let end = at + below(&mut rng, text.len() + 1 - at);
            match below(&mut rng, 4) {
                0 => drop(text.drain(at..end)),
                1 => {
                    let part = text[at..end].to_vec();
                    let to = below(&mut rng, text.len() + 1);
                    text.splice(to..to, part);
                }
                2 => {
                    let other = pick(&mut rng, seeds).as_bytes();
                    let from = below(&mut rng, other.len());
                    text.splice(at..end, other[from..].iter().copied());
                }
                _ => {
                    let word = pick(&mut rng, words);
                    let times = 1 + below(&mut rng, 3);
                    text.splice(at..at, word.repeat(times).into_bytes());
                }
            }
        }
        check(&text);
    }
}

/// Nothing but one thing again and again.
pub(crate) fn deep(parts: &[&str], mut check: impl FnMut(&[u8])) {
    for part in parts {
        for times in [10, 200, 1000, 50_000] {
            check(part.repeat(times).as_bytes());
        }
    }
}

/// Runs `work` and fails if the process has grown by more than `limit` bytes at its peak.
/// Other tests run beside it, so the limit is a generous one.
pub(crate) fn within_memory(limit: usize, work: impl FnOnce()) {
    // Where there is no such file, only a crash is noticed.
    let peak = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        line.map_or(0, |line| {
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        })
    };
    let before = peak();
    work();
    let grown = peak().saturating_sub(before) << 10;
    assert!(grown < limit, "grown by {grown} bytes");
}

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[below(rng, from.len())]
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    (rng.next_u64() % bound.max(1) as u64) as usize
}
