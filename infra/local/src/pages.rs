//! The waiting page, its files and the API's document, which are compiled into the program.

use axum::{
    Router,
    http::header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    },
    response::IntoResponse,
    routing::get,
};

/// The page may load only its own files and may not run inline code. No other site may embed it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The script of the page, and the bundles of the client library: the page loads the library, and other pages may load
/// the element too.
const SCRIPTS: [(&str, &str); 3] = [
    ("/page.js", include_str!("../../../web/page.js")),
    (
        "/vestibule.js",
        include_str!("../../../web/client/dist/vestibule.js"),
    ),
    ("/element.js", include_str!("../../../web/client/dist/element.js")),
];

/// The API's document, for tools that generate clients.
const API_DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// The routes of the page and its files, and of the API's document.
pub(crate) fn routes() -> Router {
    let page = |kind: &'static str, text: &'static str| get(move || async move { asset(kind, text) });
    let router = Router::new()
        .route(
            "/",
            page(
                "text/html; charset=utf-8",
                include_str!("../../../web/index.html"),
            ),
        )
        .route(
            "/style.css",
            page("text/css; charset=utf-8", include_str!("../../../web/style.css")),
        )
        .route("/openapi.json", page("application/json", API_DOCUMENT));
    SCRIPTS.into_iter().fold(router, |router, (path, text)| {
        router.route(path, page("text/javascript; charset=utf-8", text))
    })
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, text)
}
