//! The HTTP API that visitors and the protected service call.
//!
//! # Layout
//!
//! Imports run one way, from the top of this table to the bottom.
//!
//! | layer | modules | what they do |
//! | --- | --- | --- |
//! | server | [`serve`] | hands events of API Gateway to the router that a local listener serves too |
//! | authorizer | [`authorizer`] | answers events of API Gateway that ask whether a visitor may call an API of the shop |
//! | pages | `html` | turns forms into JSON requests, and JSON answers into pages, for browsers without JavaScript |
//! | | [`page`] | has the files of the waiting page, and serves them |
//! | routes | `routes`, `request_context` | list all routes; give every request its id and its span |
//! | | `trailing_slash` | leads a path with a slash too many to its route |
//! | handlers | `enter`, `status`, `validate` and the other routes | answer one route each |
//! | shared steps | `visitor`, `credentials`, `entry` | identify the visitor; compare a token with its owner; show an entry |
//! | | `enter_line` | puts a visitor in line, and writes the place to the backup |
//! | | `entering_visitor` | decides who enters |
//! | | `token_lookup` | bounds what requests with invented tokens cost |
//! | | `missing_entry`, `ended` | repair an entry on which the line and the backup disagree |
//! | | `degraded` | answers from the backup while the line is unavailable |
//! | | `hold` | holds a poll open until something changes |
//! | | `fallback_ticks` | runs the ticks of a promoter that is down |
//! | state | `state` | what all routes share |
//! | requests and answers | `request`, `validate_request`, `gateway`, `client_address`, `viewer_host` | parse a request; say who sent it, and from where |
//! | | `problem`, `code` | turn failures into HTTP answers |
//! | parts of the state | `queue_cache` | keeps a snapshot of each queue, at most a second old |
//! | | `absence_cache` | remembers for a second what does not exist |
//! | | `budget`, `watcher`, `held_polls`, `entry_notifier` | let many held polls ask the line about once a second together |
//! | | `identity_monitor` | counts and reports requests that the authorizer gave no visitor |
//! | | `fallback_ticker` | decides which request ticks which queue |
//! | credentials | `ticket` | verifies the tickets by which a shop says who may enter |
//!
//! Below them are [`config`], [`pass`], [`origin_key`] and the crate `vestibule_engine`.

pub mod authorizer;
mod bounds;
pub mod config;
pub mod deadline;
mod degraded;
mod entries;
mod html;
mod long_poll;
pub mod page;
mod problem;
mod queue;
mod routes;
pub mod serve;
mod services;
mod who;

pub use self::{
    problem::{Code, Problem},
    routes::{
        claim_routes, document_routes, enter_routes, router, router_with, status_routes, validate_routes,
    },
    services::ApiState,
    who::{client_address::PeerAddress, origin_key, pass},
};

#[cfg(test)]
mod tests;
