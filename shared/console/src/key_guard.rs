//! Lets only requests with the [key](crate::key) through.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, SET_COOKIE},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use vestibule_wire::Code;

use crate::{Console, files::PAGE, problem::Problem};

/// What a request without the key is told.
const KEY_NEEDED: &str =
    "open the address that the console printed when it started; each start has a new key";

/// Answers a request that has the key, in its address or in the cookie. Refuses any other one.
pub(crate) async fn require_key(
    State(console): State<Arc<Console>>,
    request: Request,
    next: Next,
) -> Response {
    let key = console.key();
    if key.is_in_query(&request) {
        let cookie = key.cookie(request.headers());
        let mut response = next.run(request).await;
        response.headers_mut().append(SET_COOKIE, cookie);
        // No cache keeps an address with the key.
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, no_store);
        return response;
    }
    if key.is_in_cookie(request.headers()) {
        return next.run(request).await;
    }
    if request.uri().path() == PAGE {
        let text = format!("This console needs its key: {KEY_NEEDED}.\n");
        return (StatusCode::FORBIDDEN, [(CACHE_CONTROL, "no-store")], text).into_response();
    }
    Problem::new(Code::ConsoleKey, KEY_NEEDED).into_response()
}
