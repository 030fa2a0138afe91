//! Forwards requests of functions to an emulator of AWS.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};

/// An emulator, and connections to it that are used again.
#[derive(Debug, Clone)]
pub(crate) struct Emulator {
    url: String,
    http: reqwest::Client,
}

impl Emulator {
    /// The emulator at this URL. No request is sent yet.
    pub(crate) fn at(url: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().build();
        Self {
            url: url.to_owned(),
            http: http.expect("a client without TLS"),
        }
    }

    /// Sends a request on, and returns the answer.
    pub(crate) async fn forward(&self, mut headers: HeaderMap, body: Bytes) -> Response {
        for name in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
            headers.remove(name);
        }
        let request = self.http.post(&self.url).headers(headers).body(body);
        let Ok(answer) = request.send().await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        for name in [
            header::TRANSFER_ENCODING,
            header::CONTENT_LENGTH,
            header::CONNECTION,
        ] {
            headers.remove(name);
        }
        match answer.bytes().await {
            Ok(bytes) => (status, headers, Body::from(bytes)).into_response(),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    }
}
