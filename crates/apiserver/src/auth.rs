//! Bearer tokens.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use evenkeel_meta::{Status, Timestamp};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use parking_lot::RwLock;

use crate::http::Identity;

/// The tokens that a listener accepts, and whom each stands for.
///
/// A `Debug` shows how many there are, never what they are.
#[derive(Clone, Default)]
pub struct Tokens {
    known: Arc<RwLock<HashMap<String, Grant>>>,
}

struct Grant {
    identity: Identity,
    expires: Option<Timestamp>,
}

impl Tokens {
    /// Accepts `token` for `identity`, until `expires` if given.
    pub fn add(&self, token: impl Into<String>, identity: Identity, expires: Option<Timestamp>) {
        self.known
            .write()
            .insert(token.into(), Grant { identity, expires });
    }

    /// Accepts `token` no more. Open watches go on, as with the real server.
    pub fn revoke(&self, token: &str) {
        self.known.write().remove(token);
    }

    pub(crate) fn authenticate(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Identity, Status> {
        let header = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        token
            .and_then(|token| self.identify(token, now))
            .ok_or_else(Status::unauthorized)
    }

    /// Whom a token stands for now.
    pub(crate) fn identify(&self, token: &str, now: Timestamp) -> Option<Identity> {
        let known = self.known.read();
        let grant = known.get(token)?;
        let valid = grant.expires.is_none_or(|expires| now < expires);
        valid.then(|| grant.identity.clone())
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.known.read().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(token: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        headers
    }

    #[test]
    fn only_known_tokens_are_accepted_until_they_expire() {
        let tokens = Tokens::default();
        let at = Timestamp::from_second;
        tokens.add("good", Identity::admin(), None);
        tokens.add("brief", Identity::admin(), Some(at(100)));
        assert!(tokens.authenticate(&bearer("good"), at(500)).is_ok());
        assert!(tokens.authenticate(&bearer("brief"), at(99)).is_ok());
        for (token, now) in [("brief", 100), ("bad", 1), ("", 1)] {
            let refused = tokens.authenticate(&bearer(token), at(now)).unwrap_err();
            assert_eq!(refused.code, 401);
        }
        assert_eq!(
            tokens
                .authenticate(&HeaderMap::new(), at(1))
                .unwrap_err()
                .code,
            401
        );
        tokens.revoke("good");
        assert!(tokens.authenticate(&bearer("good"), at(1)).is_err());
    }

    #[test]
    fn debug_shows_no_token() {
        let tokens = Tokens::default();
        tokens.add("s3cret", Identity::admin(), None);
        assert!(!format!("{tokens:?}").contains("s3cret"));
    }
}
