//! What this process has used, as the kernel counts it.

use std::fs;
use std::time::Duration;

use anyhow::Context;

const PAGE: usize = 4096;
const TICK: Duration = Duration::from_millis(10);

/// The memory that is not backed by files, in bytes.
pub(crate) fn anonymous_memory() -> anyhow::Result<usize> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let mut pages = text.split(' ').skip(1).map(str::parse::<usize>);
    let resident = pages.next().context("statm has no resident size")??;
    let shared = pages.next().context("statm has no shared size")??;
    Ok((resident - shared) * PAGE)
}

/// The CPU time of all threads, in user space and in the kernel.
pub(crate) fn cpu() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/self/stat")?;
    // The second field may have spaces in it and ends with the last parenthesis.
    let (_, rest) = text.rsplit_once(')').context("stat has no name")?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let mut ticks = || anyhow::Ok(fields.next().context("stat is short")?.parse::<u32>()?);
    Ok(TICK * (ticks()? + ticks()?))
}
