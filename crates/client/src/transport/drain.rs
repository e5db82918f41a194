use std::sync::Weak;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::time::sleep;

use super::ByteStream;
use super::reload::Reloader;

/// Ends the body of a watch some time after its connections were retired, and has the
/// certificates looked at now and then: a program that only watches sends no requests that
/// would do so.
pub(super) fn drained(
    body: ByteStream,
    mut retirement: watch::Receiver<bool>,
    reloader: Weak<Reloader>,
    look_every: Duration,
    delay: Duration,
) -> ByteStream {
    let end = async move {
        loop {
            tokio::select! {
                retired = until(&mut retirement) => match retired {
                    true => break,
                    // Nobody is left who would replace anything.
                    false => std::future::pending().await,
                },
                () = sleep(look_every) => {
                    if let Some(reloader) = reloader.upgrade() {
                        reloader.look(look_every).await;
                    }
                }
            }
        }
        sleep(delay).await;
    };
    body.take_until(end).boxed()
}

async fn until(retirement: &mut watch::Receiver<bool>) -> bool {
    retirement.wait_for(|retired| *retired).await.is_ok()
}
