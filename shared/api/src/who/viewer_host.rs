//! The host that the visitor's browser names, as a distribution in front of the API copies it: the API itself sees the
//! host of the gateway. A page of another site cannot set the header, because CORS allows no such header.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

const VIEWER_HOST: HeaderName = HeaderName::from_static("x-vestibule-host");

/// Whether the request came through a distribution that copies the host.
pub(crate) fn has_viewer_host(headers: &HeaderMap) -> bool {
    headers.contains_key(VIEWER_HOST)
}

/// The host, from the distribution or else from the request itself. Empty if it is no text.
pub(crate) fn read_viewer_host(headers: &HeaderMap) -> &str {
    let host = headers.get(VIEWER_HOST).or_else(|| headers.get(header::HOST));
    host.map(HeaderValue::to_str)
        .and_then(Result::ok)
        .unwrap_or_default()
}
