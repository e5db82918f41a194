//! The graph against tables of events, a model server and a naive collector.

mod cascade;
mod circles;
mod export;
mod fixture;
mod histories;
mod identities;
mod invariants;
mod model;
mod naive;
mod nodes;
mod requests;
