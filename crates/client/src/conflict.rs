//! Writes that lost a race.

use std::time::Duration;

use evenkeel_pace::{Backoff, Rng};

use crate::Result;

/// How often a write that lost a race is tried, and how long apart.
///
/// The default is five tries, some 10 ms apart: for a few writers of one object, where whoever reads again soon will
/// win. With [`patient`](Self::patient) the waits grow, for objects that many write.
#[derive(Clone, Debug)]
#[must_use]
pub struct ConflictRetries {
    tries: u32,
    waits: Backoff,
}

impl ConflictRetries {
    /// Four tries, some 10, 50 and 250 ms apart.
    pub fn patient() -> Self {
        Self::new(
            4,
            Backoff::new(FIRST_WAIT, LONGEST_WAIT)
                .factor(5.0)
                .jitter(0.1),
        )
    }

    /// At most `tries` tries, the first included and made in any case, `waits` apart.
    pub fn new(tries: u32, waits: Backoff) -> Self {
        Self { tries, waits }
    }
}

const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Default for ConflictRetries {
    fn default() -> Self {
        Self::new(5, Backoff::new(FIRST_WAIT, FIRST_WAIT).jitter(0.1))
    }
}

/// Makes an attempt again as long as it ends with a [conflict](crate::Error::is_conflict).
///
/// The attempt has to read the object again, or it will lose again: read, change and write inside. A level-triggered
/// controller rarely needs this; it returns the error and reconciles anew.
///
/// ```
/// # use evenkeel_client::{Api, ConflictRetries, Result, WriteOptions, retry_on_conflict};
/// # use evenkeel_meta::DynamicObject;
/// # async fn example(configs: Api<DynamicObject>) -> Result<()> {
/// retry_on_conflict(ConflictRetries::default(), || async {
///     let mut config = configs.get("settings").await?;
///     config.metadata.labels.insert("tier".into(), "gold".into());
///     configs.update(&config, &WriteOptions::default()).await
/// })
/// .await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The last conflict when the tries are used up; any other error of the attempt at once.
///
/// # Cancel safety
///
/// May be dropped at any time, which drops the attempt: its write may have taken effect.
pub async fn retry_on_conflict<T, F>(
    retries: ConflictRetries,
    mut attempt: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let ConflictRetries { tries, mut waits } = retries;
    let mut rng = Rng::from_entropy();
    loop {
        match attempt().await {
            Err(error) if error.is_conflict() && waits.steps() + 1 < tries => {
                tokio::time::sleep(waits.next(&mut rng)).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use tokio::time::Instant;

    use super::*;
    use crate::testing::{Answer, Pod, Scripted};
    use crate::{Error, WriteOptions};

    const POD: &str = r#"{"metadata":{"name":"a","namespace":"ns","resourceVersion":"1"}}"#;
    const CONFLICT: &str = r#"{"kind":"Status","status":"Failure","reason":"Conflict","code":409}"#;
    const TAKEN: &str =
        r#"{"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409}"#;

    /// Reads and writes; the writes are answered as told, then well. Says what came of it, how many writes there
    /// were, and how long it took.
    async fn race(
        retries: ConflictRetries,
        answers: &'static [(u16, &'static str)],
    ) -> (Result<Pod>, usize, Duration) {
        let server = Scripted::new(move |number, seen| match answers.get(number / 2) {
            Some((status, body)) if seen.method == Method::PUT => Answer::new(*status).chunk(*body),
            _ => Answer::ok(POD),
        });
        let pods = server.client().namespaced::<Pod>("ns");
        let start = Instant::now();
        let result = retry_on_conflict(retries, || async {
            let pod = pods.get("a").await?;
            pods.update(&pod, &WriteOptions::default()).await
        })
        .await;
        let took = start.elapsed();
        let seen = server.seen();
        let writes = seen.iter().filter(|seen| seen.method == Method::PUT);
        (result, writes.count(), took)
    }

    #[tokio::test(start_paused = true)]
    async fn client_go_rt1_ts69_a_conflict_is_tried_again_with_a_new_read() {
        let (result, writes, took) = race(
            ConflictRetries::default(),
            &[(409, CONFLICT), (409, CONFLICT)],
        )
        .await;
        assert_eq!((result.unwrap().metadata.name.as_str(), writes), ("a", 3));
        assert!(took >= Duration::from_millis(20) && took < Duration::from_millis(30));
    }

    #[tokio::test(start_paused = true)]
    async fn client_go_rt1_ts69_the_last_conflict_is_told_when_the_tries_are_used_up() {
        let (result, writes, took) = race(ConflictRetries::patient(), &[(409, CONFLICT); 9]).await;
        assert!(result.unwrap_err().is_conflict());
        assert_eq!(writes, 4);
        assert!(took >= Duration::from_millis(310) && took < Duration::from_millis(350));
        let (result, writes, _) = race(ConflictRetries::default(), &[(409, CONFLICT); 9]).await;
        assert!(result.unwrap_err().is_conflict());
        assert_eq!(writes, 5);
        let none = ConflictRetries::new(0, Backoff::new(FIRST_WAIT, FIRST_WAIT));
        assert_eq!(
            race(none, &[(409, CONFLICT)]).await.1,
            1,
            "once in any case"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn client_go_rt1_rt2_ts69_any_other_error_is_told_at_once() {
        for other in [&[(409, TAKEN)], &[(404, "")], &[(409, CONFLICT)]] {
            let (result, writes, _) = race(ConflictRetries::default(), other).await;
            let is_conflict = other[0].1 == CONFLICT;
            assert_eq!(
                (result.is_ok(), writes),
                (is_conflict, 1 + usize::from(is_conflict))
            );
        }
        let mut tries = 0;
        let result: Result<()> = retry_on_conflict(ConflictRetries::default(), || {
            tries += 1;
            std::future::ready(Err(Error::Request(
                crate::RequestError::FieldManagerRequired,
            )))
        })
        .await;
        assert!(matches!(result, Err(Error::Request(_))));
        assert_eq!(tries, 1);
    }
}
