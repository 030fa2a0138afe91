//! The edge over a line in memory and a backup in a file, by a clock that the test sets.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod ask;
mod event;
mod under_test;

use std::{sync::Arc, time::Duration};

use axum::{Router, body::to_bytes};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::timeout};
use tower::ServiceExt;
use vestibule_api::{
    ApiState,
    config::{ApiConfig, Keys, ServiceRoutes},
    pass::{PassSigner, new_key_pem},
    router,
};
use vestibule_backup::Backup;
use vestibule_domain::{
    configuration::Configuration,
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_line::Line;

pub use self::{
    ask::{Answer, Ask, entry},
    event::{event, with_claims, with_header},
    under_test::EdgeUnderTest,
};
use crate::{functions::root_key, lines};

/// The queue of every test: each has a line of its own.
pub const QUEUE: &str = "TIMEDEAL:123";
/// What passes name as their issuer.
pub const ISSUER: &str = "https://wait.example";
/// The longest that anything here takes.
pub const BOUND: Duration = Duration::from_secs(15);

/// A process on a laptop: nothing is guarded.
pub fn local() -> ApiConfig {
    ApiConfig {
        service_routes: ServiceRoutes::Unguarded,
        local: true,
        ..ApiConfig::default()
    }
}

/// The queue's id.
pub fn queue() -> QueueId {
    QUEUE.parse().expect("a queue id")
}

/// A signer of the edge's own key.
pub fn signer() -> PassSigner {
    PassSigner::from_pem(ISSUER, &new_key_pem([3; 32])).expect("a key")
}

/// The keys of every process.
pub fn keys() -> Keys {
    Keys {
        root: root_key(),
        signer: signer(),
    }
}

/// The routes of a process over these.
pub fn process(
    line: Arc<dyn Line>,
    backup: Arc<dyn Backup>,
    config: ApiConfig,
    stopped: &watch::Receiver<bool>,
) -> Router {
    router(ApiState::new(line, backup, keys(), config, stopped.clone()))
}

/// Sends a request to these routes as a local listener would.
pub async fn send_to(router: &Router, ask: Ask) -> Answer {
    let response = timeout(BOUND, router.clone().oneshot(ask.into_request()));
    let Ok(response) = response.await.expect("an answer in time");
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    Answer::new(parts.status, parts.headers, &body)
}

/// A configuration of the first generation.
pub fn configuration(settings: &Map<String, Value>, revision: &str) -> Configuration {
    Configuration {
        revision: revision.to_owned(),
        salt: Salt::new([1; 32]),
        ..lines::configuration(&Settings::from_map(settings).expect("settings"))
    }
}
