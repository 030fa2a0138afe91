//! The edge: what visitors and the protected service call.
//!
//! One file a route; around them `boundary` (request id, span, what every answer has in common), `problem` (errors as
//! HTTP), `visitor` (who is asking), `views`, `hold`, `budget`, `watcher`, `crowd` and `wakes` (how a crowd of polls asks the line
//! once a second, and is told of its turn), `drive` (what calls do while the promoter is away). [`serve`] hands events of API
//! Gateway to the same router that a local listener serves.

mod away;
mod boundary;
mod budget;
mod claim;
mod code;
mod complete;
mod crowd;
mod drive;
mod enter;
mod entry;
mod extend;
mod gateway;
mod gone;
mod hold;
mod jwks;
mod leave;
mod load;
mod over;
mod problem;
mod request;
pub mod serve;
mod status;
mod validate;
mod view;
mod views;
mod visitor;
mod wakes;
mod watcher;

use std::{any::Any, fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderName, Method, header},
    middleware::from_fn,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use tokio::sync::watch;
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowOrigin, CorsLayer},
};

use self::{
    budget::Budget,
    drive::Drivers,
    gateway::Gateway,
    views::{Seen, Views},
    wakes::Wakes,
    watcher::Watchers,
};
pub use self::{code::Code, problem::Problem};
use crate::{
    backup::{
        Backup,
        write_through::{Through, write_through},
    },
    config::{EdgeConfig, Keys, Origins},
    domain::{change::Change, id::QueueId},
    line::{Line, LineError},
    telemetry::emf::Metrics,
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
    budget: Budget,
    drivers: Drivers,
    wakes: Wakes,
    watchers: Watchers,
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
        let metrics = Metrics::of_process();
        Self::with_metrics(line, backup, keys, config, shutdown, metrics)
    }

    /// The same, writing its metrics there instead of where the process does.
    pub fn with_metrics(
        line: Arc<dyn Line>,
        backup: Arc<dyn Backup>,
        keys: Keys,
        config: EdgeConfig,
        shutdown: watch::Receiver<bool>,
        metrics: Metrics,
    ) -> Arc<Self> {
        Arc::new(Self {
            views: Views::new(line.clone(), backup.clone(), keys.root.clone()),
            budget: Budget::new(line.clone(), &config, metrics),
            drivers: Drivers::default(),
            wakes: Wakes::default(),
            watchers: Watchers::default(),
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
            LineError::JournalFull => Problem::backup_behind(),
        }
    }

    /// Writes a change through to the backup, before anybody is told of it: then those whose polls are held for the entry.
    async fn write(&self, seen: &Seen, change: &Change) -> Result<Through, Problem> {
        match self.through(seen, change).await {
            Ok(through) => Ok(through),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    async fn through(&self, seen: &Seen, change: &Change) -> Result<Through, LineError> {
        let through = write_through(&*self.line, &*self.backup, &seen.shelf(), change).await;
        self.wakes.wake(change.id);
        through
    }

    /// The same for a change that the line remembers by itself, and says again to whoever asks: where the journal is full it
    /// is not written yet, and not lost.
    async fn write_again(&self, seen: &Seen, change: &Change) -> Result<Through, Problem> {
        match self.through(seen, change).await {
            Ok(through) => Ok(through),
            Err(LineError::JournalFull) => Ok(Through {
                durable: false,
                overruled: false,
                record: None,
            }),
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
    finished(entering().merge(extending()), Router::new(), edge)
}

/// The routes of the function `status`.
pub fn status_routes(edge: Arc<Edge>) -> Router {
    finished(looking(), Router::new(), edge)
}

/// The routes of the function `validate`.
pub fn validate_routes(edge: Arc<Edge>) -> Router {
    finished(serving().merge(extending()), Router::new(), edge)
}

/// All routes, for one process that serves them.
pub fn router(edge: Arc<Edge>) -> Router {
    router_beside(edge, Router::new())
}

/// All routes, and beside them some of the process's own: these too answer with a request id and in problems. What CORS
/// allows is for our routes alone.
pub fn router_beside(edge: Arc<Edge>, own: Router) -> Router {
    let ours = entering().merge(looking()).merge(serving()).merge(extending());
    finished(ours, own, edge)
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
        .route("/queues/{queue}/load", post(load::handle))
}

/// For the visitor and for the protected service: whichever function the gateway sends it to.
fn extending() -> Router<Arc<Edge>> {
    Router::new().route("/queues/{queue}/entries/{token}/extend", post(extend::handle))
}

fn finished(routes: Router<Arc<Edge>>, own: Router, edge: Arc<Edge>) -> Router {
    let cors = cors(&edge.config.origins);
    let routes = routes
        .fallback(|| async { Problem::new(Code::UnknownRoute, "the documentation lists all there are") })
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(edge)
        .layer(DefaultBodyLimit::max(request::BODY_MAX))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(cors);
    own.method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(panicked))
        .merge(routes)
        .layer(from_fn(boundary::around))
}

async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the Allow header lists those it takes")
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
mod tests;
