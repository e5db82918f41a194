//! Waiting for a condition, with a deadline that says what was waited for.

use std::time::Duration;

use anyhow::bail;
use tokio::time::{Instant, sleep};

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(250);
/// As exact as a figure in milliseconds needs, and little beside what it measures.
const CLOSE: Duration = Duration::from_millis(5);

/// Asks again and again, from every 20 ms to every 250 ms, until there is an answer.
///
/// # Errors
/// The condition failed to be asked, or `within` passed without an answer.
pub async fn until<T>(
    within: Duration,
    what: &str,
    ask: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    ask_every(FIRST, LONGEST, within, what, ask).await
}

/// As [`until`], every 5 ms: for what is timed.
///
/// # Errors
/// Those of [`until`].
pub async fn closely<T>(
    within: Duration,
    what: &str,
    ask: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    ask_every(CLOSE, CLOSE, within, what, ask).await
}

async fn ask_every<T>(
    first: Duration,
    longest: Duration,
    within: Duration,
    what: &str,
    mut ask: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + within;
    let mut pause = first;
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        if Instant::now() >= deadline {
            bail!("waited {within:?} for this in vain: {what}");
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(longest);
    }
}

/// As [`until`] for a condition that is true or says why not yet; the last
/// reason is in the error. A condition that cannot be asked (the server is
/// down, say) is one that does not hold yet.
///
/// # Errors
/// `within` passed and the condition never held.
pub async fn eventually(
    within: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> anyhow::Result<Result<(), String>>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + within;
    let mut pause = FIRST;
    loop {
        let reason = match holds().await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => reason,
            Err(error) => format!("{error:#}"),
        };
        if Instant::now() >= deadline {
            bail!("waited {within:?} for this in vain: {what}; last seen: {reason}");
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST);
    }
}
