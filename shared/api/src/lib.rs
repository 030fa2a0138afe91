//! The HTTP API that visitors and the protected service call.
//!
//! # Layout
//!
//! Imports run one way, from the top of this table to the bottom.
//!
//! | layer | modules | what they do |
//! | --- | --- | --- |
//! | events | [`serve`], [`authorizer`] | hand events of API Gateway to the router; answer those that ask whether a visitor may call an API of the shop |
//! | routes | `routes` | list all routes, with what is around each; answer one route in each file |
//! | bundle | `services` | constructs the services below, which the routes use |
//! | pages | `html`, [`page`] | turn forms into JSON requests and JSON answers into pages; have the files of the waiting page |
//! | outages | `degraded` | answers from the backup while the line is unavailable |
//! | services | `entries` | owns line and backup together: enters, polls, claims, extends, ends, validates and repairs entries |
//! | | `long_poll` | holds polls open; many of them ask the line about once a second together |
//! | | `who` | identifies the visitor and the protected service; verifies tickets, signs and verifies passes |
//! | | `queue` | keeps a snapshot of each queue, at most a second old |
//! | answers | `problem`, `json` | turn failures into HTTP answers; read and write JSON |
//! | parts | [`config`], `bounds`, [`deadline`] | configure the routes; bound work and memory; say when Lambda stops the call |
//!
//! No file of `routes` names the line or the backup.
//!
//! The functions that make an answer of what line and backup have said are pure, and public for the simulation:
//! [`describe_entry`], [`describe_stored_entry`], [`QueueReading::describe_queue`], [`Problem::retry_after_seconds`].

pub mod authorizer;
mod bounds;
pub mod config;
pub mod deadline;
mod degraded;
mod entries;
mod html;
mod json;
mod long_poll;
pub mod page;
mod problem;
mod queue;
mod routes;
pub mod serve;
mod services;
mod who;

pub use self::{
    degraded::entry_body::{KnownQueue, StoredPlace, describe_stored_entry},
    entries::view::{EntryFacts, describe_entry, shorten_pause_after_hold},
    problem::{Code, Problem, code_of_end},
    queue::{QueueMoment, QueueReading},
    routes::{
        claim_routes, document_routes, enter_routes, router, router_with, status_routes, validate_routes,
    },
    services::Services,
    who::{client_address::PeerAddress, origin_key, pass},
};

#[cfg(test)]
mod tests;
