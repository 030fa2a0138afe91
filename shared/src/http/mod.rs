//! The edge: what visitors and the protected service call.
//!
//! One file a route; around them [`boundary`] (request id, span, what every answer has in common), [`problem`] (errors as
//! HTTP), [`visitor`] (who is asking), [`views`] and [`hold`] (how a crowd of polls asks the line once a second).
//! [`serve`] hands events of API Gateway to the same router that a local listener serves.

mod boundary;
mod claim;
mod complete;
mod enter;
mod entry;
mod extend;
mod gateway;
mod gone;
mod hold;
mod jwks;
mod leave;
mod problem;
mod request;
pub mod serve;
mod status;
mod validate;
mod view;
mod views;
mod visitor;

use std::{any::Any, fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderName, Method, header},
    middleware::from_fn,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use tokio::sync::{Semaphore, watch};
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowOrigin, CorsLayer},
};

pub use self::problem::Code;
use self::{
    gateway::Gateway,
    problem::Problem,
    views::{Seen, Views},
};
use crate::{
    backup::{
        Backup,
        write_through::{Through, write_through},
    },
    config::{EdgeConfig, Keys, Origins},
    domain::{change::Change, id::QueueId},
    line::{Line, LineError},
};

/// How long a browser may remember what CORS allows.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_mins(10);

/// What the routes work with.
pub struct Edge {
    line: Arc<dyn Line>,
    backup: Arc<dyn Backup>,
    keys: Keys,
    config: EdgeConfig,
    views: Views,
    holds: Semaphore,
    shutdown: watch::Receiver<bool>,
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Edge {
    /// Puts a line and a backup behind the routes. When `shutdown` becomes `true`, held polls are answered at once.
    pub fn new(
        line: Arc<dyn Line>,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: EdgeConfig,
        shutdown: watch::Receiver<bool>,
    ) -> Arc<Self> {
        Arc::new(Self {
            views: Views::new(line.clone(), backup.clone(), keys.root.clone()),
            holds: Semaphore::new(config.held_budget),
            line,
            backup,
            keys,
            config,
            shutdown,
        })
    }

    /// How a queue stands, a second old at most.
    async fn seen(&self, queue: &QueueId) -> Result<Arc<Seen>, Problem> {
        self.views
            .get(queue)
            .await
            .map_err(|absence| Problem::from(&absence))
    }

    /// Why the line did not do what was asked of it.
    async fn line_failed(&self, queue: &QueueId, error: LineError) -> Problem {
        match error {
            LineError::Unknown => {
                self.views.forget(queue);
                match self.views.get(queue).await {
                    Err(absence) => Problem::from(&absence),
                    Ok(_) => Problem::recovering("the line had lost the queue a moment ago"),
                }
            }
            LineError::Unavailable(cause) => Problem::line_away(cause),
            LineError::Nonsense(cause) => Problem::internal(cause),
        }
    }

    /// Writes a change through to the backup, before anybody is told of it.
    async fn write(&self, seen: &Seen, change: &Change) -> Result<Through, Problem> {
        match write_through(&*self.line, &*self.backup, &seen.shelf(), change).await {
            Ok(through) => Ok(through),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Refuses whoever is not the protected service.
    fn service_only(&self, gateway: &Gateway) -> Result<(), Problem> {
        if gateway.is_service(&self.config) {
            Ok(())
        } else {
            Err(Problem::new(
                Code::ServiceOnly,
                "the gateway does not vouch for the caller",
            ))
        }
    }
}

/// The routes of the function `enter`.
pub fn enter_routes(edge: Arc<Edge>) -> Router {
    finished(entering().merge(extending()), edge)
}

/// The routes of the function `status`.
pub fn status_routes(edge: Arc<Edge>) -> Router {
    finished(looking(), edge)
}

/// The routes of the function `validate`.
pub fn validate_routes(edge: Arc<Edge>) -> Router {
    finished(serving().merge(extending()), edge)
}

/// All routes, for one process that serves them.
pub fn router(edge: Arc<Edge>) -> Router {
    finished(
        entering().merge(looking()).merge(serving()).merge(extending()),
        edge,
    )
}

fn entering() -> Router<Arc<Edge>> {
    Router::new()
        .route("/queues/{queue}", get(view::handle))
        .route("/queues/{queue}/entries", post(enter::handle))
        .route("/queues/{queue}/entries/{token}", delete(leave::handle))
        .route("/queues/{queue}/entries/{token}/claim", post(claim::handle))
        .route("/.well-known/jwks.json", get(jwks::handle))
}

fn looking() -> Router<Arc<Edge>> {
    Router::new().route("/queues/{queue}/entries/{token}", get(status::handle))
}

fn serving() -> Router<Arc<Edge>> {
    Router::new()
        .route("/queues/{queue}/entries/{token}/validate", post(validate::handle))
        .route("/queues/{queue}/entries/{token}/complete", post(complete::handle))
}

/// For the visitor and for the protected service: whichever function the gateway sends it to.
fn extending() -> Router<Arc<Edge>> {
    Router::new().route("/queues/{queue}/entries/{token}/extend", post(extend::handle))
}

fn finished(routes: Router<Arc<Edge>>, edge: Arc<Edge>) -> Router {
    let cors = cors(&edge.config.origins);
    routes
        .fallback(|| async { Problem::new(Code::UnknownRoute, "the documentation lists all there are") })
        .method_not_allowed_fallback(|| async {
            Problem::new(Code::MethodNotAllowed, "the Allow header lists those it takes")
        })
        .with_state(edge)
        .layer(DefaultBodyLimit::max(request::BODY_MAX))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(cors)
        .layer(from_fn(boundary::around))
}

// The signature is the layer's.
#[allow(clippy::needless_pass_by_value)]
fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let said = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Problem::internal(format!("panic: {said}")).into_response()
}

/// Cookies go to origins that are named, and never to any that asks.
fn cors(origins: &Origins) -> CorsLayer {
    let cors = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("prefer"),
            HeaderName::from_static("x-api-key"),
            visitor::VISITOR_ID,
        ])
        .expose_headers([
            header::LOCATION,
            header::RETRY_AFTER,
            HeaderName::from_static("preference-applied"),
            boundary::REQUEST_ID,
        ])
        .max_age(PREFLIGHT_MAX_AGE);
    match origins {
        Origins::Any => cors.allow_origin(tower_http::cors::Any),
        Origins::Named(origins) => cors
            .allow_origin(AllowOrigin::list(origins.iter().cloned()))
            .allow_credentials(true),
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use http_body_util::BodyExt;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;
    use crate::{
        backup::file::FileBackup,
        domain::id::RootKey,
        line::memory::MemoryLine,
        pass::{Signer, new_key_pem},
    };

    fn edge(dir: &tempfile::TempDir) -> Arc<Edge> {
        let keys = Keys {
            root: RootKey::new(vec![7; 32]).expect("long enough"),
            signer: Signer::from_pem("x", &new_key_pem([1; 32])).expect("a key"),
        };
        let backup = FileBackup::open(dir.path().join("store")).expect("a store");
        let (_, shutdown) = watch::channel(false);
        Edge::new(
            Arc::new(MemoryLine::new()),
            Arc::new(backup),
            keys,
            EdgeConfig::default(),
            shutdown,
        )
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_that_shows_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let routes = Router::new().route("/", get(|| async { panic!("the secret is 42") as &'static str }));
        let request = Request::get("/").body(Body::empty()).expect("a request");
        let Ok(response) = finished(routes, edge(&dir)).oneshot(request).await;
        assert_eq!(response.status(), 500);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body["code"], "internal");
        assert!(!body.to_string().contains("42"), "{body}");
    }

    #[tokio::test]
    async fn the_three_functions_have_all_routes_between_them() {
        let dir = tempfile::tempdir().expect("a folder");
        let edge = edge(&dir);
        let at = |path: &str| format!("/queues/a/entries/0f8fad5b-d9cb-869f-a165-70867728950e{path}");
        for (method, path, functions) in [
            (Method::GET, "/queues/a".to_owned(), [true, false, false]),
            (Method::POST, "/queues/a/entries".to_owned(), [true, false, false]),
            (Method::GET, at(""), [false, true, false]),
            (Method::DELETE, at(""), [true, false, false]),
            (Method::POST, at("/claim"), [true, false, false]),
            (Method::POST, at("/extend"), [true, false, true]),
            (Method::POST, at("/validate"), [false, false, true]),
            (Method::POST, at("/complete"), [false, false, true]),
            (
                Method::GET,
                "/.well-known/jwks.json".to_owned(),
                [true, false, false],
            ),
        ] {
            let serves = async |router: Router| {
                let request = Request::builder()
                    .method(&method)
                    .uri(&path)
                    .body(Body::empty())
                    .expect("a request");
                let Ok(response) = router.oneshot(request).await;
                let body = response.into_body().collect().await.expect("a body").to_bytes();
                let text = String::from_utf8(body.into()).expect("UTF-8");
                !text.contains("unknown-route") && !text.contains("method-not-allowed")
            };
            let found = [
                serves(enter_routes(edge.clone())).await,
                serves(status_routes(edge.clone())).await,
                serves(validate_routes(edge.clone())).await,
            ];
            assert_eq!(found, functions, "{method} {path}");
            assert!(serves(router(edge.clone())).await, "{method} {path}");
        }
    }

    #[tokio::test]
    async fn made_up_queues_fill_no_memory() {
        let dir = tempfile::tempdir().expect("a folder");
        let edge = edge(&dir);
        for number in 0..3_000 {
            edge.views
                .forget(&format!("q{number}").parse().expect("a queue id"));
        }
        assert!(edge.views.kept() <= 1_000, "{}", edge.views.kept());
    }
}
