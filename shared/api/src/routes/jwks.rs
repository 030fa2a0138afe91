//! `GET /.well-known/jwks.json`: the public keys that verify passes (RFC 7517).

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use crate::{Services, json::json};

pub(super) async fn handle(State(services): State<Services>) -> Response {
    let passes = &services.identity.passes;
    let mut response = json(StatusCode::OK, &passes.jwks());
    let cacheable = HeaderValue::try_from(format!("public, max-age={}", passes.cache_seconds()));
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        cacheable.expect("digits fit into a header"),
    );
    response
}
