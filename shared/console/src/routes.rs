//! The routes of the console. All are below `/operate`.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use vestibule_wire::Code;

use crate::{
    Console,
    command::{COMMAND_BYTES_MAX, send_command},
    files::{FILES, PAGE, route_of, serve_file},
    host::names_this_machine,
    key_guard::require_key,
    overview::show_overview,
    problem::Problem,
    queue_detail::show_queue,
};

/// The routes of a console, for a process that refuses foreign hosts itself. Each demands the key.
pub fn routes(console: Arc<Console>) -> Router {
    let page_origin = console.deployment().page_origin();
    let command = post(send_command).layer(DefaultBodyLimit::max(COMMAND_BYTES_MAX));
    let routes = Router::new()
        .route("/operate", get(async || Redirect::permanent(PAGE)))
        .route("/operate/overview", get(show_overview))
        .route("/operate/queues/{queue}", get(show_queue))
        .route("/operate/admin", command)
        .with_state(console.clone());
    let routes = FILES.iter().fold(routes, |routes, (path, media_type, text)| {
        let file = serve_file(path, media_type, text, page_origin.as_deref());
        routes.route(&format!("{PAGE}{}", route_of(path)), file)
    });
    routes.route_layer(from_fn_with_state(console, require_key))
}

/// The routes of a console that a process serves alone, on this machine. The root leads to the page, and no route answers a
/// request that names a foreign host.
pub fn routes_for_loopback(console: Arc<Console>) -> Router {
    routes(console)
        .route("/", get(async || Redirect::temporary(PAGE)))
        .fallback(async || {
            Problem::new(
                Code::UnknownRoute,
                "the console is at /operate/, at the address that it printed when it started",
            )
        })
        .layer(from_fn(refuse_foreign_host))
}

async fn refuse_foreign_host(request: Request, next: Next) -> Response {
    if names_this_machine(request.headers(), &[]) {
        return next.run(request).await;
    }
    let detail = "send the request to localhost, 127.0.0.1 or [::1]";
    Problem::new(Code::ForeignHost, detail).into_response()
}
