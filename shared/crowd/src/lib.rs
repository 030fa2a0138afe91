//! Visitors who follow the protocol, and crowds of them: for the rehearsal of a sale, benchmarks and tests. The simulation
//! takes its checks.
//!
//! - [`rules`]: which request a client sends next, and when, as the shipped client decides it
//! - [`temper`]: how a visitor behaves; [`visitor`]: rules and temper together, and the [`record`] of what the visitor met.
//!   They send nothing and have no clock
//! - [`door`]: the API as a trait of five calls, and the protected service; `http`: the door of a deployment
//! - [`crowd`]: sends visitors through a door, each at its time ([`arrivals`], [`plan`]), over a bounded number of
//!   [`connections`]; [`ledger`]: how long requests took
//! - [`checks`]: what must hold of any crowd

pub mod act;
pub mod arrivals;
pub mod checks;
pub mod connections;
pub mod crowd;
pub mod door;
#[cfg(feature = "http")]
pub mod http;
pub mod ledger;
pub mod plan;
pub mod record;
pub mod rules;
mod stay;
pub mod stop;
pub mod temper;
pub mod visitor;
