//! The routes of each function and of a process that serves all of them, with the layers around
//! them: CORS, the body limit and the handling of panics.

mod claim;
mod complete;
mod enter;
mod extend;
mod jwks;
mod leave;
mod load;
mod public_document;
mod refusal;
mod request;
pub(crate) mod request_context;
mod start;
mod status;
mod trailing_slash;
mod validate;

use std::{any::Any, time::Duration};

use axum::{
    Router,
    extract::{DefaultBodyLimit, RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn, from_fn_with_state, map_response},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowOrigin, CorsLayer},
};

use self::trailing_slash::lead_to_route;
use crate::{
    Services,
    config::Origins,
    html, page,
    problem::{Code, Problem},
    who::{page_origin, visitor},
};

/// How long a browser may cache what CORS allows.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_mins(10);

/// How long caches may keep the answer that there is no public document, in seconds of `max-age`.
const ABSENCE_CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, max-age=2");

/// The routes of the function `document`. It also answers the preflights of all routes.
pub fn document_routes(services: Services) -> Router {
    let routes = public_routes().merge(start_routes()).merge(page_routes());
    add_layers(routes, Router::new(), services)
}

/// The routes of the function `enter`.
pub fn enter_routes(services: Services) -> Router {
    add_layers(entering_routes(), Router::new(), services)
}

/// The routes of the function `claim`.
pub fn claim_routes(services: Services) -> Router {
    add_layers(claiming_routes(), Router::new(), services)
}

/// The routes of the function `status`.
pub fn status_routes(services: Services) -> Router {
    add_layers(entry_routes(), Router::new(), services)
}

/// The routes of the function `validate`.
pub fn validate_routes(services: Services) -> Router {
    add_layers(service_routes(), Router::new(), services)
}

/// All routes, for a process that serves all of them.
pub fn router(services: Services) -> Router {
    add_layers(api_routes(), Router::new(), services)
}

/// All routes of the API, next to routes of the process's own. The process's own routes also get a
/// request id and answer with problems. CORS applies to the routes of the API only. No route answers a request
/// whose headers `refuse` refuses.
pub fn router_with(
    services: Services,
    other_routes: Router,
    refuse: impl Fn(&HeaderMap) -> Result<(), Problem> + Clone + Send + Sync + 'static,
) -> Router {
    let refuse = move |request: Request, next: Next| {
        let refused = refuse(request.headers());
        async move {
            match refused {
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        }
    };
    let routes = merge_routes(api_routes(), other_routes, services.clone())
        .layer(from_fn(refuse))
        .layer(from_fn_with_state(services, surround));
    lead_to_route(routes)
}

fn api_routes() -> Router<Services> {
    public_routes()
        .merge(start_routes())
        .merge(entering_routes())
        .merge(claiming_routes())
        .merge(entry_routes())
        .merge(service_routes())
}

fn public_routes() -> Router<Services> {
    Router::new()
        .route(
            "/queues/{queue}",
            get(public_document::handle).layer(map_response(let_caches_keep_absence)),
        )
        .route("/.well-known/jwks.json", get(jwks::handle))
        .layer(map_response(mark_as_public))
}

/// The page from which a visitor without JavaScript enters.
fn start_routes() -> Router<Services> {
    Router::new().route("/queues/{queue}/entries", get(start::handle))
}

/// The waiting page. A process that serves all routes adds it by itself, because it may have a folder of its own files.
fn page_routes() -> Router<Services> {
    Router::new()
        .route("/", get(page::index).post(page::continue_without_javascript))
        .route("/pages/{file}", get(page::page))
        .route("/{file}", get(page::theme))
}

/// Marks an answer that is the same for every reader.
#[derive(Clone)]
struct PublicAnswer;

async fn mark_as_public(mut response: Response) -> Response {
    response.extensions_mut().insert(PublicAnswer);
    response
}

/// Lets pages of any origin read a public answer, without credentials. It does not depend on the
/// origin of the page, so a cache needs one copy: there is no `Vary`.
fn open_public_answer(mut response: Response) -> Response {
    if response.extensions().get::<PublicAnswer>().is_some() {
        let headers = response.headers_mut();
        headers.remove(header::VARY);
        headers.remove(header::ACCESS_CONTROL_ALLOW_CREDENTIALS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    response
}

/// Lets caches keep the answer that a queue is unknown, gone or unavailable. Readers of an absent document
/// cost as much as those of a document, and `CloudFront` keeps no 404 or 410 that says `no-store`.
async fn let_caches_keep_absence(mut response: Response) -> Response {
    let is_absence = matches!(
        response.status(),
        StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::SERVICE_UNAVAILABLE
    );
    if is_absence {
        response
            .headers_mut()
            .entry(header::CACHE_CONTROL)
            .or_insert(ABSENCE_CACHE_CONTROL);
    }
    response
}

fn entering_routes() -> Router<Services> {
    Router::new().route("/queues/{queue}/entries", post(enter::handle))
}

fn claiming_routes() -> Router<Services> {
    Router::new().route("/queues/{queue}/entries/{token}/claim", post(claim::handle))
}

/// All that a visitor asks about an entry, except the claim: a flood of these takes no execution from those who enter and
/// claim.
fn entry_routes() -> Router<Services> {
    Router::new()
        .route(
            "/queues/{queue}/entries/{token}",
            get(status::handle)
                .delete(leave::handle)
                .head(method_not_allowed)
                .layer(map_response(list_methods_of_entry)),
        )
        .route("/queues/{queue}/entries/{token}/extend", post(extend::handle))
}

/// To ask about an entry has effects, so its path refuses `HEAD`, which `get` would let through and list.
async fn list_methods_of_entry(mut response: Response) -> Response {
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let methods = HeaderValue::from_static("GET,DELETE");
        response.headers_mut().insert(header::ALLOW, methods);
    }
    response
}

fn service_routes() -> Router<Services> {
    Router::new()
        .route("/queues/{queue}/entries/{token}/validate", post(validate::handle))
        .route("/queues/{queue}/entries/{token}/complete", post(complete::handle))
        .route("/queues/{queue}/load", post(load::handle))
}

pub(crate) fn add_layers(routes: Router<Services>, other_routes: Router, services: Services) -> Router {
    let routes = merge_routes(routes, other_routes, services.clone());
    lead_to_route(routes.layer(from_fn_with_state(services, surround)))
}

/// What is around every route: the context of the request, and the page for a browser without JavaScript.
async fn surround(
    State(services): State<Services>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    let representation = html::Representation::of(&request);
    let response = request_context::answer_with_context(params.ok().as_ref(), request, next).await;
    representation
        .write(open_public_answer(response), &services.config)
        .await
}

/// What each request of the API passes before its route. These are one layer, because each layer copies all that is
/// within it for every request.
async fn check_request(
    State(services): State<Services>,
    queue: Result<request::QueuePath, Problem>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(problem) = request::refuse_oversized(&request) {
        return problem.into_response();
    }
    // The process takes over keys of a rotation before it answers.
    services.identity.passes.refresh_if_due().await;
    let is_of_crowd = refusal::is_sent_by_waiting_visitors(&request);
    let accepted = page_origin::refuse_foreign_write(&services.config, &mut request)
        .and_then(|()| html::accept_form(&services.config, request));
    let mut response = match accepted {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let queue = queue.ok().map(|request::QueuePath(queue)| queue);
    refusal::explain_end(&services.queues, queue.as_ref(), &mut response).await;
    refusal::add_refused_queue(&services.queues, queue.as_ref(), is_of_crowd, &mut response);
    response
}

fn merge_routes(routes: Router<Services>, other_routes: Router, services: Services) -> Router {
    let cors = cors_layer(&services.config.origins);
    let routes = routes
        .fallback(|| async { Problem::usual(Code::UnknownRoute) })
        .method_not_allowed_fallback(method_not_allowed)
        .layer((
            cors,
            CatchPanicLayer::custom(answer_panic),
            DefaultBodyLimit::max(request::BODY_MAX),
            from_fn_with_state(services.clone(), check_request),
        ))
        .with_state(services);
    other_routes
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(answer_panic))
        .merge(routes)
}

async fn method_not_allowed() -> Problem {
    Problem::usual(Code::MethodNotAllowed)
}

// `CatchPanicLayer` prescribes the signature.
#[allow(clippy::needless_pass_by_value)]
fn answer_panic(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    Problem::internal(format!("a request handler panicked: {message}")).into_response()
}

/// Pages of the configured origins may send cookies. If any origin is allowed, no page may.
fn cors_layer(origins: &Origins) -> CorsLayer {
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
            request_context::REQUEST_ID,
        ])
        .max_age(PREFLIGHT_MAX_AGE);
    match origins {
        Origins::Any => cors.allow_origin(tower_http::cors::Any),
        Origins::Listed(origins) => cors
            .allow_origin(AllowOrigin::list(origins.iter().cloned()))
            .allow_credentials(true),
    }
}
