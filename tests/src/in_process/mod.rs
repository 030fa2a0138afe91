//! The API in the process of the test, with a clock, faults and a line that the test controls.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod door;
mod entry_snapshot;
mod event;
mod in_process_api;
mod start;

use std::{sync::Arc, time::Duration};

use axum::{Router, body::to_bytes};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::timeout};
use tower::ServiceExt;
use uuid::Builder;
use vestibule_api::{
    Services,
    config::{ApiConfig, Keys, ServiceRoutes, VisitorRequests},
    origin_key::LiveOriginKey,
    pass::{PassKeys, PassSigner, new_key_pem},
    router,
};
use vestibule_backup::Backup;
use vestibule_domain::{
    configuration::Configuration,
    id::{EntryId, IdKey, QueueId, Salt, Visitor},
    settings::Settings,
};
use vestibule_line::Line;
use vestibule_telemetry::emf::Metrics;

pub use self::{
    door::RoutesTransport,
    entry_snapshot::{EntryFields, EntrySnapshot},
    event::{event, with_claims, with_header},
    in_process_api::{INVOCATION_ID, InProcessApi, send_event_to},
};
pub use crate::api::{ApiRequest, ApiResponse};
use crate::{functions::root_key, lines};

/// The queue of every [`InProcessApi`], each of which has a line of its own.
pub const QUEUE: &str = "TIMEDEAL:123";
/// The salt of [`QUEUE`], from which its entry ids are derived.
pub(crate) const QUEUE_SALT: [u8; 32] = [1; 32];
/// The issuer that passes name.
pub const ISSUER: &str = "https://wait.example";
/// The longest time that a request or a change may take.
pub const BOUND: Duration = Duration::from_mins(1);

impl ApiRequest {
    /// A request to enter [`QUEUE`].
    pub fn enter() -> Self {
        Self::post(format!("/queues/{QUEUE}/entries"))
    }
}

/// Returns the path of an entry of [`QUEUE`].
pub fn entry_path(token: &str) -> String {
    format!("/queues/{QUEUE}/entries/{token}")
}

/// Returns the configuration of a process on a developer's machine, whose routes are not guarded. A visitor may send as many
/// requests as a test likes, because the clock of a test stands still between them.
pub fn local_config() -> ApiConfig {
    ApiConfig {
        service_routes: ServiceRoutes::Unguarded,
        local: true,
        visitor_requests: VisitorRequests {
            at_once: u32::MAX,
            per_second: u32::MAX,
        },
        ..ApiConfig::default()
    }
}

/// Returns [`QUEUE`] as an id.
pub fn queue_id() -> QueueId {
    QUEUE.parse().expect("a queue id")
}

/// Returns the key from which the entry ids and the secrets of [`QUEUE`] are derived.
pub fn id_key() -> IdKey {
    IdKey::derive_for_queue(&root_key(), &queue_id(), &Salt::new(QUEUE_SALT)).expect("the key of the salt")
}

/// Returns the visitor id of an anonymous visitor, and the id of the entry in [`QUEUE`] that belongs to it.
pub fn anonymous_visitor(number: u64) -> (String, EntryId) {
    let visitor = Builder::from_random_bytes(u128::from(number).to_be_bytes()).into_uuid();
    (
        visitor.to_string(),
        id_key().entry_id(&Visitor::from_random(visitor)),
    )
}

fn signing_key() -> String {
    new_key_pem(|| [3; 32])
}

/// Returns the signer of the passes.
pub fn signer() -> PassSigner {
    PassSigner::from_pem(ISSUER, &signing_key()).expect("a key")
}

/// Returns the keys of every process.
pub fn keys() -> Keys {
    Keys {
        root: root_key(),
        passes: PassKeys::fixed(ISSUER, &signing_key(), 300).expect("a key"),
        origin: LiveOriginKey::default(),
    }
}

/// Builds the routes of a process over this line and this backup.
pub fn build_router(
    line: Line,
    backup: Arc<dyn Backup>,
    config: ApiConfig,
    shutdown: &watch::Receiver<bool>,
) -> Router {
    router(Services::new(
        line,
        backup,
        keys(),
        config,
        shutdown.clone(),
        Metrics::for_process(),
    ))
}

/// Sends a request to the routes without a connection.
pub async fn send_to(router: &Router, request: ApiRequest) -> ApiResponse {
    let response = timeout(BOUND, router.clone().oneshot(request.into_request()));
    let Ok(response) = response.await.expect("a response in time");
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    ApiResponse::new(parts.status, parts.headers, &body)
}

/// Returns a configuration of the first generation of a queue.
pub fn configuration(settings: &Map<String, Value>, revision: &str) -> Configuration {
    Configuration {
        revision: revision.to_owned(),
        salt: Salt::new(QUEUE_SALT),
        ..lines::configuration(&Settings::from_map(settings).expect("settings"))
    }
}
