//! deployment
#![allow(dead_code)]
mod cleanup;
mod condition;
mod limits;
mod proportional;
mod revision;
mod rolling;
mod status;
mod template;
