mod annotation;
mod pair;

use std::fmt;
use std::str::FromStr;

use evenkeel_meta::{ApiResource, Scope};

pub(crate) use self::annotation::{read, write};
pub(crate) use self::pair::joined;
use crate::lease::LEASES;

/// What the candidates compete for.
///
/// [`Lock::Lease`] is the one to use. The others are for a rolling upgrade from candidates of
/// Kubernetes 1.23 and older, in three steps (client-go L24), each complete before the next
/// begins: all on the legacy lock, all on both, all on the Lease. Legacy and Lease alone must
/// never meet: neither sees the other.
///
/// A lock with a legacy object is not watched; its standbys read it each retry period, as
/// client-go's do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Lock {
    /// A Lease.
    #[default]
    Lease,
    /// A Lease, taken only when nobody holds the legacy lock any more: for the last step, where
    /// a candidate of the first may have been forgotten.
    LeaseAfter(Legacy),
    /// A legacy object alone.
    Legacy(Legacy),
    /// A legacy object and a Lease, both written each time, the legacy object first.
    Both(Legacy),
}

/// Objects that carried the election in an annotation, before there were Leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Legacy {
    /// `v1` `Endpoints`.
    Endpoints,
    /// `v1` `ConfigMap`.
    ConfigMaps,
}

/// The text names no kind of lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of lock {0:?}: expected leases")]
pub struct UnknownLock(String);

impl Lock {
    /// Whether Kubernetes has dropped it.
    #[must_use]
    pub fn is_deprecated(self) -> bool {
        matches!(self, Self::Legacy(_) | Self::Both(_))
    }

    /// The legacy object that it reads.
    pub(crate) fn legacy(self) -> Option<Legacy> {
        match self {
            Self::Lease => None,
            Self::LeaseAfter(legacy) | Self::Legacy(legacy) | Self::Both(legacy) => Some(legacy),
        }
    }

    /// The objects that it writes.
    pub(crate) fn objects(self) -> Vec<ApiResource> {
        match self {
            Self::Lease | Self::LeaseAfter(_) => vec![LEASES],
            Self::Legacy(legacy) => vec![legacy.resource()],
            Self::Both(legacy) => vec![legacy.resource(), LEASES],
        }
    }
}

impl Legacy {
    pub(crate) fn resource(self) -> ApiResource {
        let (kind, plural) = match self {
            Self::Endpoints => ("Endpoints", "endpoints"),
            Self::ConfigMaps => ("ConfigMap", "configmaps"),
        };
        ApiResource::new_static("", "v1", kind, plural, Scope::Namespaced)
    }
}

/// The names that Kubernetes' programs take for `--leader-elect-resource-lock`.
impl FromStr for Lock {
    type Err = UnknownLock;

    fn from_str(text: &str) -> Result<Self, UnknownLock> {
        Ok(match text {
            "leases" => Self::Lease,
            "endpoints" => Self::Legacy(Legacy::Endpoints),
            "configmaps" => Self::Legacy(Legacy::ConfigMaps),
            "endpointsleases" => Self::Both(Legacy::Endpoints),
            "configmapsleases" => Self::Both(Legacy::ConfigMaps),
            _ => return Err(UnknownLock(text.to_owned())),
        })
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease => f.write_str("leases"),
            Self::LeaseAfter(legacy) => write!(f, "leases after {legacy}"),
            Self::Legacy(legacy) => write!(f, "{legacy}"),
            Self::Both(legacy) => write!(f, "{legacy}leases"),
        }
    }
}

impl fmt::Display for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Endpoints => "endpoints",
            Self::ConfigMaps => "configmaps",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l3_the_names_of_the_locks_are_those_of_kubernetes() {
        for name in [
            "leases",
            "endpoints",
            "configmaps",
            "endpointsleases",
            "configmapsleases",
        ] {
            let lock: Lock = name.parse().unwrap();
            assert_eq!(lock.to_string(), name);
            assert_eq!(lock.is_deprecated(), name != "leases");
        }
        assert!("etcd".parse::<Lock>().is_err());
    }
}
