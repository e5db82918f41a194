//! Where the items of a merged list go.

use serde_json::Value;

/// What tells the items of a list apart: a field of theirs, or their value.
#[derive(Clone, Copy)]
pub(super) struct Identity<'a> {
    pub(super) key: Option<&'a str>,
}

impl Identity<'_> {
    pub(super) fn of(self, item: &Value) -> &Value {
        match self.key {
            Some(key) => item.get(key).unwrap_or(&Value::Null),
            None => item,
        }
    }

    pub(super) fn position(self, items: &[Value], item: &Value) -> Option<usize> {
        let identity = self.of(item);
        items.iter().position(|other| self.of(other) == identity)
    }
}

/// Puts `items` in order: those that `patch` names in its order, the server's own in theirs, and
/// each of the patch's before those of the server's that do not precede it on the server.
pub(super) fn arrange(
    items: Vec<Value>,
    patch: &[Value],
    server: &[Value],
    identity: Identity<'_>,
) -> Vec<Value> {
    let (mut patched, mut own): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|item| identity.position(patch, item).is_some());
    let by = |order: &[Value], item: &Value| identity.position(order, item).unwrap_or(usize::MAX);
    patched.sort_by_key(|item| by(patch, item));
    own.sort_by_key(|item| by(server, item));

    let mut arranged = Vec::with_capacity(patched.len() + own.len());
    let (mut patched, mut own) = (patched.into_iter().peekable(), own.into_iter().peekable());
    loop {
        let own_first = match (own.peek(), patched.peek()) {
            (None, None) => return arranged,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(patched)) => {
                match (
                    identity.position(server, own),
                    identity.position(server, patched),
                ) {
                    (Some(own), Some(patched)) => own < patched,
                    _ => false,
                }
            }
        };
        arranged.extend(if own_first {
            own.next()
        } else {
            patched.next()
        });
    }
}

/// Whether the items of `patch` come in the same order in `order`.
pub(super) fn follows<'a>(
    mut patch: impl Iterator<Item = &'a Value>,
    order: &[Value],
    identity: Identity<'_>,
) -> bool {
    let mut order = order.iter();
    patch.all(|item| order.any(|other| identity.of(other) == identity.of(item)))
}
