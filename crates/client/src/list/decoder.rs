use bytes::{Buf, BytesMut};

use super::PageInfo;
use crate::error::DecodeError;
use crate::json::ValueEnd;

/// The largest object; etcd takes no more than a tenth of it.
const LARGEST_ITEM: usize = 16 << 20;
/// How much is kept of an answer that turns out not to be a list.
const KEPT_PREFIX: usize = 64 << 10;

/// Cuts the JSON text of a list into its items, as the bytes arrive. Knows no network.
///
/// The buffer holds one incomplete item and what has arrived behind it, never the list.
pub(super) struct Decoder {
    buffer: BytesMut,
    state: State,
    /// How much of the value at the buffer's start has been looked at, and with what result.
    value: ValueEnd,
    seen: usize,
    info: PageInfo,
    kind: String,
    has_items: bool,
    /// The text before the first item.
    prefix: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the outer `{`.
    Start,
    /// Before a field's name, or the outer `}`.
    Name,
    /// Before the colon after `items`.
    Colon(Field),
    /// Before a field's value.
    Value(Field),
    /// Before an item, or the `]` that ends them.
    Item,
    /// After the outer `}`.
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Kind,
    Metadata,
    Items,
    Other,
}

/// What the bytes so far give.
pub(super) enum Step {
    /// An item is the first bytes, this many, of [`Decoder::bytes`]; [`Decoder::consume`] it.
    Item(usize),
    /// More bytes are needed.
    NeedMore,
    /// The list is complete.
    End,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            buffer: BytesMut::new(),
            state: State::Start,
            value: ValueEnd::default(),
            seen: 0,
            info: PageInfo::default(),
            kind: String::new(),
            has_items: false,
            prefix: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Drops the first bytes.
    pub(super) fn consume(&mut self, length: usize) {
        self.advance(length);
    }

    /// Whether `items` was there, which makes it a list.
    pub(super) fn has_items(&self) -> bool {
        self.has_items
    }

    /// The kind that the answer names.
    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    /// The text before the first item: all of it, if the answer is no list.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    pub(super) fn into_info(self) -> PageInfo {
        self.info
    }

    /// Goes on until there is an item, or the bytes are used up.
    pub(super) fn step(&mut self) -> Result<Step, DecodeError> {
        loop {
            if self.state == State::End {
                return Ok(Step::End);
            }
            if self.seen == 0 {
                self.skip_separators();
            }
            let Some(&byte) = self.buffer.first() else {
                return Ok(Step::NeedMore);
            };
            match self.state {
                State::Start if byte == b'{' => self.token(State::Name),
                State::Start => return Err(malformed("it does not begin with '{'")),
                State::Name if byte == b'}' => self.token(State::End),
                State::Name if byte == b'"' => {
                    let Some(end) = self.value_end()? else {
                        return Ok(Step::NeedMore);
                    };
                    let field = match &self.buffer[..end] {
                        b"\"kind\"" => Field::Kind,
                        b"\"metadata\"" => Field::Metadata,
                        b"\"items\"" => Field::Items,
                        _ => Field::Other,
                    };
                    self.advance(end);
                    self.state = State::Colon(field);
                }
                State::Name => return Err(malformed("a field name was expected")),
                State::Colon(field) if byte == b':' => self.token(State::Value(field)),
                State::Colon(_) => return Err(malformed("a ':' was expected")),
                State::Value(Field::Items) if byte == b'[' => {
                    self.has_items = true;
                    self.token(State::Item);
                }
                State::Value(field) => {
                    let Some(end) = self.value_end()? else {
                        return Ok(Step::NeedMore);
                    };
                    self.field(field, end)?;
                    self.advance(end);
                    self.state = State::Name;
                }
                State::Item if byte == b']' => self.token(State::Name),
                State::Item => {
                    return Ok(match self.value_end()? {
                        Some(end) => Step::Item(end),
                        None => Step::NeedMore,
                    });
                }
                State::End => return Ok(Step::End),
            }
        }
    }

    fn field(&mut self, field: Field, end: usize) -> Result<(), DecodeError> {
        let value = &self.buffer[..end];
        let wrong = |error| DecodeError::new("the list", &error);
        match field {
            Field::Kind => self.kind = serde_json::from_slice(value).map_err(wrong)?,
            Field::Metadata if value != b"null" => {
                self.info = serde_json::from_slice(value).map_err(wrong)?;
            }
            // `null` for no items, as Go writes it. Anything else is no list: taken for an empty one it
            // would have every object gone.
            Field::Items if value == b"null" => self.has_items = true,
            Field::Items => return Err(malformed("its items are no array")),
            Field::Metadata | Field::Other => {}
        }
        Ok(())
    }

    /// White space, and the commas between fields and between items.
    fn skip_separators(&mut self) {
        let is_separator = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let length = self.buffer.iter().take_while(|b| is_separator(b)).count();
        self.advance(length);
    }

    fn token(&mut self, next: State) {
        self.advance(1);
        self.state = next;
    }

    fn advance(&mut self, length: usize) {
        if !self.has_items && self.prefix.len() < KEPT_PREFIX {
            self.prefix.extend_from_slice(&self.buffer[..length]);
        }
        self.buffer.advance(length);
        self.value = ValueEnd::default();
        self.seen = 0;
    }

    fn value_end(&mut self) -> Result<Option<usize>, DecodeError> {
        let end = self.value.find(&self.buffer[self.seen..]);
        let end = end.map(|more| self.seen + more);
        if end.unwrap_or(self.buffer.len()) > LARGEST_ITEM {
            return Err(malformed("an item is too large"));
        }
        if end.is_none() {
            self.seen = self.buffer.len();
        }
        Ok(end)
    }
}

fn malformed(reason: &str) -> DecodeError {
    DecodeError::new("the list", &reason)
}
