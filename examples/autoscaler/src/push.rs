//! Numbers that come without being asked for.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel::meta::{MetaView, ObjectKey};
use evenkeel::store::{Index, Store};
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Autoscaler;
use crate::source::Reading;

/// The last numbers that were sent, by autoscaler.
///
/// What is kept is a level and not a message: the channel tells which keys to look at, and what they find here
/// is the newest, whatever has become of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest(Arc<Mutex<HashMap<ObjectKey, (Instant, Reading)>>>);

impl Latest {
    pub(crate) fn of(&self, key: &ObjectKey) -> Option<(Instant, Reading)> {
        self.0.lock().get(key).copied()
    }

    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.0.lock().remove(key);
    }
}

/// The way in.
#[derive(Clone, Debug)]
pub struct Push {
    pub(crate) autoscalers: Store<Autoscaler>,
    pub(crate) by_metric: Index<Autoscaler>,
    pub(crate) latest: Latest,
    pub(crate) keys: mpsc::Sender<ObjectKey>,
}

impl Push {
    /// So much of `metric` there is now. Says how many autoscalers go by it; a number that none
    /// goes by is not kept.
    ///
    /// Never waits. If there is no room in the channel, the number is there at the next poll.
    pub fn tell(&self, metric: &str, reading: Reading) -> usize {
        let concerned = self.autoscalers.by_index(&self.by_metric, metric);
        for autoscaler in &concerned {
            let key = autoscaler.metadata.key();
            let mut latest = self.latest.0.lock();
            latest.insert(key.clone(), (Instant::now(), reading));
            drop(latest);
            let _ = self.keys.try_send(key);
        }
        concerned.len()
    }

    /// Takes datagrams of lines, `METRIC NUMBER`, until it is told to stop. Other lines are
    /// skipped.
    ///
    /// # Errors
    /// The socket's.
    pub async fn listen(&self, socket: &UdpSocket, stop: CancellationToken) -> std::io::Result<()> {
        let mut buffer = [0; 1500];
        loop {
            let length = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                received = socket.recv(&mut buffer) => received?,
            };
            let text = String::from_utf8_lossy(&buffer[..length]);
            for (metric, reading) in text.lines().filter_map(line) {
                if self.tell(metric, reading) == 0 {
                    tracing::debug!(metric, "No autoscaler goes by it");
                }
            }
        }
    }
}

fn line(text: &str) -> Option<(&str, Reading)> {
    let (metric, value) = text.trim().split_once(' ')?;
    Some((metric, Reading::new(value.trim().parse().ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_metric_and_a_number() {
        let told = |text| line(text).map(|(metric, reading)| (metric, reading.value()));
        assert_eq!(told("orders 12.5\r"), Some(("orders", 12.5)));
        for wrong in [
            "",
            "orders",
            "orders x",
            "orders -1",
            "orders NaN",
            "orders 1 2",
        ] {
            assert_eq!(told(wrong), None, "{wrong}");
        }
    }
}
