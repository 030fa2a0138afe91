//! The routes of the function `document` that serve the page.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, Uri, header},
    response::{IntoResponse, Response},
};

use super::files::{FileCache, choose_page, file_headers, find_file};
use crate::{
    config::ApiConfig,
    problem::{Code, Problem},
};

/// `GET /`: the page in the visitor's language. A distribution in front asks for [`page`] instead.
pub(crate) async fn index(
    State(config): State<Arc<ApiConfig>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut response = serve(&config, &choose_page(&uri, &headers))?;
    let varies = HeaderValue::from_static("accept-language");
    response.headers_mut().append(header::VARY, varies);
    Ok(response)
}

/// `GET /pages/{file}`: the page in one language.
pub(crate) async fn page(
    State(config): State<Arc<ApiConfig>>,
    Path(file): Path<String>,
) -> Result<Response, Problem> {
    serve(&config, &format!("pages/{file}"))
}

/// `GET /{file}`: the default theme. A distribution in front asks for it only if the themes have no such file.
pub(crate) async fn theme(
    State(config): State<Arc<ApiConfig>>,
    Path(file): Path<String>,
) -> Result<Response, Problem> {
    serve(&config, &file)
}

fn serve(config: &ApiConfig, path: &str) -> Result<Response, Problem> {
    let (media_type, text) = find_file(path)
        .ok_or_else(|| Problem::new(Code::UnknownRoute, "the waiting page has no such file"))?;
    let headers = file_headers(
        media_type,
        text.as_bytes(),
        FileCache::Short,
        &config.frame_ancestors,
        !config.local,
    );
    Ok((headers, text).into_response())
}
