//! `GET /.well-known/jwks.json`: the public keys that verify passes (RFC 7517).

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::{ApiState, entry::json};

pub(super) async fn handle(State(state): State<Arc<ApiState>>) -> Response {
    let mut response = json(StatusCode::OK, &state.keys.signer.jwks());
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=300"),
    );
    response
}
