//! The files of the page, which are compiled into the program.

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::IntoResponse,
    routing::{MethodRouter, get},
};

/// The files: path below the page, media type and text.
pub(crate) const FILES: &[(&str, &str, &str)] = include!("../../../web/operate/dist/files.rs");

/// The folder of the page.
pub(crate) const PAGE: &str = "/operate/";
/// The page itself.
const INDEX: &str = "index.html";
/// The folder of the files whose names change with their content.
const HASHED: &str = "assets/";

/// The path of a file below the folder of the page.
pub(crate) fn route_of(path: &'static str) -> &'static str {
    if path == INDEX { "" } else { path }
}

/// The route of a file. `page_origin` is the origin of the waiting page, which the page may embed.
pub(crate) fn serve_file(
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
    page_origin: Option<&str>,
) -> MethodRouter {
    let headers = file_headers(path, media_type, page_origin);
    get(move || {
        let headers = headers.clone();
        async move { (headers, text).into_response() }
    })
}

/// The page loads only files of its own origin and runs no inline code, and no other site may embed it.
fn file_headers(path: &str, media_type: &'static str, page_origin: Option<&str>) -> HeaderMap {
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self' \
         {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        page_origin.unwrap_or_default()
    );
    let cache = if path.starts_with(HASHED) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let mut headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
    ]);
    if let Ok(policy) = HeaderValue::from_str(&policy.replace(" ;", ";")) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers
}
