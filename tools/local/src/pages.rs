//! The waiting page, its files and the API's document, which are compiled into the program. A folder on disk may have
//! files instead of them, such as those of a theme.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    extract::{Path as PathParameters, Request},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use vestibule_api::{
    Code, Problem,
    page::{FileCache, choose_page, continue_without_javascript, file_headers, find_file},
};

/// The bundles of the client library, which other pages may load.
const SCRIPTS: &[(&str, &str)] = include!("../../../web/client/dist/scripts.rs");

/// The API's document, for tools that generate clients.
const API_DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// The routes of the page and its files, and of the API's document. `web` is a folder whose files come first. They are
/// read at each request.
pub(crate) fn routes(web: Option<PathBuf>) -> Router {
    let mut router = Router::new().route("/openapi.json", embedded("application/json", API_DOCUMENT));
    for (path, text) in SCRIPTS {
        router = router.route(path, embedded("text/javascript; charset=utf-8", text));
    }
    let web = web.map(Arc::<Path>::from);
    let page = {
        let web = web.clone();
        move |names: Option<PathParameters<Vec<String>>>, request: Request| async move {
            let folder = names.map_or_else(Vec::new, |PathParameters(names)| names);
            let page = choose_page(request.uri(), request.headers());
            // A folder may have a page of its own.
            let own = web
                .as_deref()
                .and_then(|web| read_file(web, &folder, "index.html"));
            let page = own
                .or_else(|| read_file(web.as_deref()?, &[], &page))
                .or_else(|| embedded_file(&page));
            (
                [(header::VARY, "accept-language")],
                page.unwrap_or_else(no_such_file),
            )
        }
    };
    let file = move |PathParameters(names): PathParameters<Vec<String>>| async move {
        let [folder @ .., name] = names.as_slice() else {
            return no_such_file();
        };
        let own = web.as_deref().and_then(|web| read_file(web, folder, name));
        // Every folder has the theme of the page.
        let is_of_page = || embedded_file(&names.join("/")).or_else(|| embedded_file(name));
        own.or_else(is_of_page).unwrap_or_else(no_such_file)
    };
    router
        .route("/", get(page.clone()).post(continue_without_javascript))
        .route("/{file}", get(file.clone()))
        .route("/{folder}/", get(page).post(continue_without_javascript))
        .route("/{folder}/{file}", get(file))
}

fn embedded(kind: &'static str, text: &'static str) -> MethodRouter {
    get(async move || (headers(kind, text.as_bytes()), text))
}

/// A file of the page that is compiled in.
fn embedded_file(path: &str) -> Option<Response> {
    let (kind, text) = find_file(path)?;
    Some((headers(kind, text.as_bytes()), text).into_response())
}

/// A file in a folder below `web`.
fn read_file(web: &Path, folder: &[String], path: &str) -> Option<Response> {
    let parts = folder.iter().map(String::as_str).chain(path.split('/'));
    let path: PathBuf = parts
        .map(|part| Some(part).filter(|part| is_plain_name(part)))
        .collect::<Option<_>>()?;
    let content = std::fs::read(web.join(&path)).ok()?;
    Some((headers(media_type(&path), &content), content).into_response())
}

fn no_such_file() -> Response {
    Problem::new(Code::UnknownRoute, "the waiting page has no such file").into_response()
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
fn headers(kind: &'static str, content: &[u8]) -> HeaderMap {
    file_headers(kind, content, FileCache::Revalidated, "'self'", false)
}
