//! What the server accepts: the form of a document ([`check_fields`], [`duplicate_fields`]) and the
//! rules of its kind ([`validate`]).

mod cause;
mod decode;
mod duplicates;
mod metadata;
mod rules;
mod scalars;
mod structural;

#[cfg(test)]
mod tests;

pub(crate) use self::decode::{Fault, FieldValidation, check_fields, decode};
pub(crate) use self::scalars::Misfit;
pub(crate) use self::duplicates::duplicate_fields;
pub(crate) use self::rules::{causes, validate};
