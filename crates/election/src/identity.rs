use std::hash::{BuildHasher, RandomState};

/// A name for this process as a candidate: `<host>_<nonce>`, the nonce written like a UUID
/// (client-go L17).
///
/// Two processes that share an identity both lead, so every process needs its own, and a
/// restarted one a new one: it must wait like any other, for its predecessor's last writes
/// may still be on their way.
#[must_use]
pub fn identity(host: &str, nonce: u128) -> String {
    let hex = format!("{nonce:032x}");
    format!(
        "{host}_{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// [`identity`] of this host, with a nonce from the operating system.
#[must_use]
pub fn unique_identity() -> String {
    // std offers the operating system's randomness only as hash keys.
    let keys = RandomState::new();
    let nonce = u128::from(keys.hash_one(0)) << 64 | u128::from(keys.hash_one(1));
    identity(&host_name(), nonce)
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l17_an_identity_is_the_host_and_a_nonce() {
        assert_eq!(
            identity("node-1", 0x0123_4567_89ab_cdef_0011_2233_4455_6677),
            "node-1_01234567-89ab-cdef-0011-223344556677"
        );
        assert_ne!(unique_identity(), unique_identity());
        assert!(unique_identity().len() > 37);
    }
}
