//! The waiting page, its files and the API's document, which are compiled into the program. A folder on disk may have
//! files instead of them, such as those of a theme.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    extract::{Path as PathParameters, Request},
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use vestibule_api::{
    Code, Problem,
    page::{FILES, FileCache, INDEX, continue_without_javascript, file_headers, is_hashed},
};

/// The bundles of the client library, which other pages may load.
const SCRIPTS: [(&str, &str); 3] = [
    (
        "/vestibule.js",
        include_str!("../../../web/client/dist/vestibule.js"),
    ),
    ("/closing.js", include_str!("../../../web/client/dist/closing.js")),
    ("/element.js", include_str!("../../../web/client/dist/element.js")),
];

/// The API's document, for tools that generate clients.
const API_DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// The routes of the page and its files, and of the API's document. `web` is a folder whose files come first. They are
/// read at each request.
pub(crate) fn routes(web: Option<PathBuf>) -> Router {
    let mut router = Router::new().route("/openapi.json", embedded("application/json", API_DOCUMENT));
    for (path, text) in SCRIPTS {
        router = router.route(path, embedded("text/javascript; charset=utf-8", text));
    }
    let Some(web) = web.map(Arc::<Path>::from) else {
        return FILES.iter().fold(router, |router, (path, kind, text)| {
            router.route(&route_of(path), page_file(path, kind, text))
        });
    };
    let in_folder = {
        let web = web.clone();
        move |PathParameters(names): PathParameters<Vec<String>>, request: Request| async move {
            read_file(&web, &names, request.uri().path().ends_with('/'))
        }
    };
    router
        .route(
            "/",
            get(async move || read_file(&web, &[], true)).post(continue_without_javascript),
        )
        .route("/{file}", get(in_folder.clone()))
        .route(
            "/{folder}/",
            get(in_folder.clone()).post(continue_without_javascript),
        )
        .route("/{folder}/{file}", get(in_folder))
}

fn route_of(path: &str) -> String {
    format!("/{}", if path == INDEX { "" } else { path })
}

fn embedded(kind: &'static str, text: &'static str) -> MethodRouter {
    get(async move || (headers(kind, FileCache::Revalidated), text))
}

fn page_file(path: &str, kind: &'static str, text: &'static str) -> MethodRouter {
    let cache = if is_hashed(path) {
        FileCache::Immutable
    } else {
        FileCache::Revalidated
    };
    let file = get(async move || (headers(kind, cache), text));
    if path == INDEX {
        file.post(continue_without_javascript)
    } else {
        file
    }
}

/// Answers with a file of the folder, or else with the page's own file: each folder of a theme has the same page.
fn read_file(web: &Path, names: &[String], is_folder: bool) -> Response {
    let index = is_folder.then_some(INDEX);
    let parts: Vec<&str> = names.iter().map(String::as_str).chain(index).collect();
    if parts.iter().all(|part| is_plain_name(part)) {
        let path: PathBuf = parts.iter().collect();
        if let Ok(content) = std::fs::read(web.join(&path)) {
            return (headers(media_type(&path), FileCache::Revalidated), content).into_response();
        }
        let own = parts.join("/");
        let is_own = |path: &str| path == own || (path == parts[parts.len() - 1] && !is_hashed(path));
        if let Some((_, kind, text)) = FILES.iter().find(|(path, ..)| is_own(path)) {
            return (headers(kind, FileCache::Revalidated), *text).into_response();
        }
    }
    Problem::new(Code::UnknownRoute, "the folder of --web has no such file").into_response()
}

/// Refuses names that lead out of the folder, and hidden files.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    !name.starts_with('.') && name.bytes().all(is_plain)
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// The operator's console, of the same origin, shows the page in a frame.
fn headers(kind: &'static str, cache: FileCache) -> HeaderMap {
    file_headers(kind, cache, "'self'", false)
}
