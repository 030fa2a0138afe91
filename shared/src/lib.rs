//! Vestibule: a serverless virtual waiting room.
//!
//! When more people arrive than a shop, a ticket sale or a registration can serve, Vestibule puts them in a fair line,
//! tells each one where they stand, and lets them through at the rate that the system behind it can bear.
//!
//! The rooms, from the outside in; each one uses only those below it:
//!
//! - [`http`]: the routes, what they answer, and how an event of API Gateway or a local request reaches them;
//!   [`admin`]: what operators do; [`promoter`]: one tick of every line each second, and the loop around it
//! - [`line`](mod@line): who stands where, in Redis or in memory; [`backup`]: the durable record of every entry, in
//!   DynamoDB or in a file; [`pass`]: signed proof of being let in
//! - [`domain`]: ids, scores, states, settings, pace, estimates: pure rules
//!
//! [`start`] wires these together for a function: [`config`] reads the environment, [`telemetry`] sets up the logs
//! and writes the metrics,
//! [`deadline`](mod@deadline) says when it is stopped, and [`aws`] is what clients of AWS share.

pub mod admin;
pub mod aws;
pub mod backup;
pub mod config;
pub mod deadline;
pub mod domain;
pub mod http;
pub mod line;
pub mod pass;
pub mod promoter;
pub mod start;
mod system_clock;
pub mod telemetry;
mod uri;
