//! Batches of 1, 2, 4, ... so that a refusal is met by one request and not by hundreds (contract kcm C3).

use std::future::Future;

use futures_util::future::join_all;

/// Runs `count` operations in growing batches, each batch at once; stops after the first batch
/// in which one failed. Answers how many succeeded, and the first error.
pub(super) async fn slow_start<E, F>(count: usize, operation: impl Fn() -> F) -> (usize, Option<E>)
where
    F: Future<Output = Result<(), E>>,
{
    let (mut done, mut batch) = (0, 1);
    while done < count {
        let results = join_all((0..batch.min(count - done)).map(|_| operation())).await;
        let mut first = None;
        for result in results {
            match result {
                Ok(()) => done += 1,
                Err(error) => first = first.or(Some(error)),
            }
        }
        if first.is_some() {
            return (done, first);
        }
        batch *= 2;
    }
    (done, None)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn kcm_c3_stops_after_the_first_batch_with_an_error() {
        // Ten wanted, a quota of three: 1, 2, then a batch of 4 that is refused. Seven requests.
        let (asked, left) = (Cell::new(0), Cell::new(3));
        let ended = slow_start(10, || {
            asked.set(asked.get() + 1);
            let granted = left.get() > 0;
            left.set(left.get() - i32::from(granted));
            async move { if granted { Ok(()) } else { Err("quota") } }
        })
        .await;
        assert_eq!((ended, asked.get()), ((3, Some("quota")), 7));
    }

    #[tokio::test]
    async fn kcm_c3_all_of_them_when_nothing_fails() {
        for count in [0, 1, 2, 10, 500] {
            let ended = slow_start(count, || async { Ok::<_, ()>(()) }).await;
            assert_eq!(ended, (count, None));
        }
    }
}
