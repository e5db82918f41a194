use std::sync::Arc;

use super::Compact;

/// As much text as LZ4's table can still point into.
const DICTIONARY: usize = 32 << 10;
/// A new dictionary is made after so many objects, for those that follow.
const LESSONS: [usize; 4] = [8, 64, 512, 4096];
/// What takes more than a fifth of its length has something new in it.
const FAMILIAR: usize = 5;

/// Compresses objects with what the first of them have taught.
///
/// The dictionary is plain text: objects that compressed badly against the ones before. The
/// earliest objects stay as they were compressed at the time, until they change.
#[derive(Default)]
pub(crate) struct Compressor {
    seen: usize,
    sample: Vec<u8>,
    dictionary: Arc<[u8]>,
}

impl Compressor {
    pub(crate) fn shrink<K>(&mut self, object: &mut Compact<K>) {
        if object.compressed.is_some() {
            return;
        }
        self.learn(&object.text);
        let compressed = lz4_flex::block::compress_with_dict(&object.text, &self.dictionary);
        if compressed.len() < object.text.len() {
            object.compressed = Some((object.text.len(), Arc::clone(&self.dictionary)));
            object.text = compressed.into_boxed_slice();
        }
    }

    fn learn(&mut self, text: &[u8]) {
        let Some(last) = LESSONS.last().filter(|last| self.seen < **last) else {
            return;
        };
        self.seen += 1;
        let is_new = || {
            let compressed = lz4_flex::block::compress_with_dict(text, &self.sample);
            compressed.len() * FAMILIAR > text.len()
        };
        if self.sample.len() + text.len() <= DICTIONARY && is_new() {
            self.sample.extend_from_slice(text);
        }
        if LESSONS.contains(&self.seen) && self.sample.len() != self.dictionary.len() {
            self.dictionary = Arc::from(self.sample.as_slice());
        }
        if self.seen == *last {
            self.sample = Vec::new();
        }
    }
}
