use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Own, PackedMeta, Shared, pack_pairs, pack_rest};
use crate::{ObjectKey, OwnerView, ResourceVersion, Timestamp};

impl<'de> Deserialize<'de> for PackedMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Wire::deserialize(deserializer)?.pack())
    }
}

/// Metadata as it stands in the text that is decoded.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wire<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    generate_name: Option<Text<'a>>,
    namespace: Option<Text<'a>>,
    uid: Option<Text<'a>>,
    resource_version: Option<Text<'a>>,
    generation: Option<i64>,
    creation_timestamp: Option<Timestamp>,
    deletion_timestamp: Option<Timestamp>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<Pairs<'a>>,
    annotations: Option<Pairs<'a>>,
    finalizers: Option<Vec<Text<'a>>>,
    owner_references: Option<Vec<Owner<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Owner<'a> {
    #[serde(borrow)]
    api_version: Text<'a>,
    kind: Text<'a>,
    name: Text<'a>,
    uid: Text<'a>,
    controller: Option<bool>,
    block_owner_deletion: Option<bool>,
}

impl Wire<'_> {
    fn pack(self) -> PackedMeta {
        let text = Option::as_deref;
        let own = Own {
            resource_version: text(&self.resource_version).map(ResourceVersion::parse),
            generation: self.generation,
            created: self.creation_timestamp,
            deleted: self.deletion_timestamp,
            grace: self.deletion_grace_period_seconds,
            uid: text(&self.uid),
        };
        let pairs = |pairs: &Option<Pairs<'_>>| {
            let pairs = pairs.iter().flat_map(|pairs| &pairs.0);
            pack_pairs(pairs.map(|(key, value)| (&**key, &**value)))
        };
        let finalizers = self.finalizers.as_deref().unwrap_or_default();
        let owners = self.owner_references.as_deref().unwrap_or_default();
        PackedMeta {
            key: ObjectKey::new(text(&self.namespace), text(&self.name).unwrap_or_default()),
            own: own.pack(),
            shared: Arc::new(Shared {
                labels: pairs(&self.labels),
                annotations: pairs(&self.annotations),
                rest: pack_rest(
                    text(&self.generate_name),
                    finalizers.iter().map(|finalizer| &**finalizer),
                    owners.iter().map(Owner::view),
                ),
            }),
        }
    }
}

impl Owner<'_> {
    fn view(&self) -> (OwnerView<'_>, [Option<bool>; 2]) {
        let view = OwnerView {
            api_version: &self.api_version,
            kind: &self.kind,
            name: &self.name,
            uid: &self.uid,
            controller: self.controller.unwrap_or_default(),
            block_owner_deletion: self.block_owner_deletion.unwrap_or_default(),
        };
        (view, [self.controller, self.block_owner_deletion])
    }
}

/// Text that is borrowed where the deserializer can lend it.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Text<'a>(Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lend;
        impl<'de> Visitor<'de> for Lend {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Lend)
    }
}

/// The entries of a map of texts in key order; of equal keys the last one counts.
struct Pairs<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                // Servers send them in order.
                if !pairs.is_sorted_by(|a: &(Text<'_>, _), b: &(Text<'_>, _)| a.0 < b.0) {
                    // Reversed before a stable sort: the last of equals comes first, and stays.
                    pairs.reverse();
                    pairs.sort_by(|a, b| a.0.cmp(&b.0));
                    pairs.dedup_by(|later, first| later.0 == first.0);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
