//! What the server accepts: the form of a document ([`check_fields`], [`duplicate_fields`]) and the
//! rules of its kind ([`causes`]).

mod access;
mod batch;
mod config;
mod constraints;
mod containers;
mod decode;
mod duplicates;
mod metadata;
mod names;
mod networking;
mod pod;
mod pod_update;
mod policy;
mod probes;
mod read;
mod report;
mod rollout;
mod rules;
mod scalars;
mod selectors;
mod service;
mod storage;
mod structural;
mod volumes;
mod workloads;

#[cfg(test)]
mod tests;

pub(crate) use self::decode::{Fault, FieldValidation, check_fields, decode};
pub(crate) use self::duplicates::duplicate_fields;
pub(crate) use self::names::qualified as qualified_name;
pub(crate) use self::rules::causes;
pub(crate) use self::scalars::Misfit;
