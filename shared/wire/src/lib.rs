//! What leaves the API and comes to it, as serde types: the answers, the requests, the problems, the events of queues, and the
//! commands of operators with their results.
//!
//! Their doc comments are the descriptions in the API's document: `infra/openapi.sh render` makes its schemas from these
//! types, and the types of the web's scripts from the schemas. Times are Unix milliseconds of line time.

pub mod commands;
mod entry;
mod event;
mod fields;
mod keys;
mod message;
pub mod problem;
mod public_document;
mod requests;
pub mod results;
#[cfg(feature = "schemas")]
pub mod schemas;
mod service;

pub use self::{
    entry::{Closing, Entry, Pass, Secret},
    event::EventDetail,
    fields::{InvalidField, VISIT, parse_request},
    keys::{Jwk, Jwks},
    message::{Message, Messages},
    problem::{Code, Problem},
    public_document::{Lane, PositionAhead, PositionWait, PublicDocument},
    requests::{
        CompleteRequest, EXTEND_SECONDS_MAX, EmptyBody, EnterRequest, ExtendRequest, LoadReport,
        ValidateRequest,
    },
    service::{LoadAnswer, ValidateResponse},
};
