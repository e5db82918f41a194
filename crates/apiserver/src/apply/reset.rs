//! Fields that a write to a subresource (or to the object itself) cannot set: nobody comes to own
//! them by it.

use super::set::FieldSet;
use crate::schema::{Origin, Schema};

const STATUS: &[&[&str]] = &[&["status"]];
const SPEC: &[&[&str]] = &[&["spec"]];
const SPEC_AND_METADATA: &[&[&str]] = &[&["metadata"], &["spec"]];

pub(super) fn fields(schema: &Schema, subresource: &str) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths(schema, subresource) {
        set.insert_fields(path);
    }
    set
}

fn paths(schema: &Schema, subresource: &str) -> &'static [&'static [&'static str]] {
    let kind = schema.kind();
    match (schema.origin(), subresource) {
        (Origin::Custom, "") if schema.has_status_subresource() => STATUS,
        (Origin::Custom, "status") => SPEC_AND_METADATA,
        (Origin::Custom, _) => &[],
        (Origin::BuiltIn, _) => match (&*kind.kind, subresource) {
            ("CertificateSigningRequest", "") => &[&["spec"], &["status"]],
            ("CertificateSigningRequest", "status") => &[&["spec"], &["status", "conditions"]],
            ("CertificateSigningRequest", "approval") => &[&["spec"], &["status", "certificate"]],
            (_, "" | "finalize") => STATUS,
            ("Deployment", "status") => &[&["spec"], &["metadata", "labels"]],
            ("Pod", "status") => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            ("VolumeAttachment" | "ValidatingAdmissionPolicy" | "ServiceCIDR", "status") => {
                SPEC_AND_METADATA
            }
            (_, "status") => SPEC,
            _ => &[],
        },
    }
}
