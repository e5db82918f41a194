//! The pods as they are now, and who watches them.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::encoding::{Encoding, Kind};

/// Versions before it are nobody's. As many digits as those of today in microseconds, so that
/// one takes the place of another.
pub(crate) const FIRST_VERSION: u64 = 1_000_000_000_000_000;
const DIGITS: usize = 16;

/// From one pod that changes to the next. A prime, so that neighbours change at different times and each
/// has its turn.
const STRIDE: usize = 7919;

/// How many frames wait for a client before the sender does: at 5,000 a second, ten seconds.
const WAITING_FRAMES: usize = 50_000;

pub(crate) struct State {
    pub(crate) encoding: Encoding,
    pub(crate) metadata_only: bool,
    pods: Mutex<Pods>,
    watches: Mutex<Vec<mpsc::Sender<Bytes>>>,
    /// How many times a watch has begun to wait for events.
    live: AtomicUsize,
}

struct Pods {
    all: Vec<Pod>,
    version: u64,
    /// Which one changes next.
    next: usize,
}

struct Pod {
    bytes: Vec<u8>,
    /// Where its resource version is.
    version_at: u32,
}

impl State {
    pub(crate) fn new(
        encoding: Encoding,
        metadata_only: bool,
        pods: Vec<Vec<u8>>,
    ) -> anyhow::Result<Self> {
        let all = pods
            .into_iter()
            .zip(FIRST_VERSION + 1..)
            .map(|(bytes, version)| Pod::new(bytes, version))
            .collect::<anyhow::Result<Vec<_>>>()?;
        ensure!(!all.is_empty(), "no pods");
        ensure!(all.len() % STRIDE != 0, "each pod must have its turn");
        Ok(Self {
            encoding,
            metadata_only,
            watches: Mutex::default(),
            live: AtomicUsize::new(0),
            pods: Mutex::new(Pods {
                version: FIRST_VERSION + all.len() as u64,
                all,
                next: 0,
            }),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.pods.lock().all.len()
    }

    pub(crate) fn version(&self) -> u64 {
        self.pods.lock().version
    }

    /// How long the items of a list of these are.
    pub(crate) fn items_length(&self, from: usize, to: usize) -> usize {
        let pods = self.pods.lock();
        let lengths = pods.all[from..to].iter().map(|pod| pod.bytes.len());
        lengths
            .map(|length| self.encoding.item_length(length))
            .sum()
    }

    /// Passes the pods from this one on to `take`, until it says that it has enough. Answers the
    /// next one.
    pub(crate) fn visit(
        &self,
        from: usize,
        to: usize,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> usize {
        let pods = self.pods.lock();
        for (at, pod) in pods.all[from..to].iter().enumerate() {
            if !take(&pod.bytes) {
                return from + at + 1;
            }
        }
        to
    }

    /// Gives the next pod a new version, at least `version`, and appends the event.
    pub(crate) fn change(&self, version: u64, out: &mut Vec<u8>) {
        let mut pods = self.pods.lock();
        pods.version = version.max(pods.version + 1);
        let (version, at) = (pods.version, pods.next);
        pods.next = (at + STRIDE) % pods.all.len();
        let pod = &mut pods.all[at];
        let place = pod.version_at as usize;
        pod.bytes[place..place + DIGITS].copy_from_slice(version.to_string().as_bytes());
        let kind = Kind::of(self.metadata_only);
        self.encoding.put_event(out, "MODIFIED", kind, &pod.bytes);
    }

    /// A new watch's events.
    pub(crate) fn join(&self) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(WAITING_FRAMES);
        self.watches.lock().push(sender);
        receiver
    }

    /// A watch has sent what was there when it began.
    pub(crate) fn note_live(&self) {
        self.live.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn times_live(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }

    /// Waits for clients that are behind.
    pub(crate) fn send(&self, frame: &Bytes) {
        let mut watches = self.watches.lock();
        watches.retain(|watch| watch.blocking_send(frame.clone()).is_ok());
    }

    pub(crate) fn end_watches(&self) {
        self.watches.lock().clear();
    }
}

impl Pod {
    fn new(bytes: Vec<u8>, version: u64) -> anyhow::Result<Self> {
        let text = version.to_string();
        let at = bytes
            .windows(DIGITS)
            .position(|window| window == text.as_bytes())
            .context("a pod without its version")?;
        Ok(Self {
            version_at: u32::try_from(at)?,
            bytes,
        })
    }
}

/// Reads messages, each after its length in four bytes.
pub(crate) fn read_protobuf(file: &Path, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut file = BufReader::new(File::open(file)?);
    (0..count)
        .map(|_| {
            let mut length = [0; 4];
            file.read_exact(&mut length).context("too few pods")?;
            let mut message = vec![0; u32::from_be_bytes(length) as usize];
            file.read_exact(&mut message)?;
            Ok(message)
        })
        .collect()
}
