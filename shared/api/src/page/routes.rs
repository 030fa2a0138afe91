//! The routes of the function `document` that serve the page.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};

use super::files::{FileCache, INDEX, file_headers, find_file, is_hashed};
use crate::{code::Code, problem::Problem, state::ApiState};

/// `GET /`: the page.
pub(crate) async fn index(State(state): State<Arc<ApiState>>) -> Result<Response, Problem> {
    serve(&state, INDEX)
}

/// `GET /assets/{file}`: a script, style or language of the page.
pub(crate) async fn asset(
    State(state): State<Arc<ApiState>>,
    Path(file): Path<String>,
) -> Result<Response, Problem> {
    serve(&state, &format!("assets/{file}"))
}

/// `GET /{file}`: the default theme. A distribution in front asks for it only if the themes have no such file.
pub(crate) async fn theme(
    State(state): State<Arc<ApiState>>,
    Path(file): Path<String>,
) -> Result<Response, Problem> {
    serve(&state, &file)
}

fn serve(state: &ApiState, path: &str) -> Result<Response, Problem> {
    let (media_type, text) = find_file(path)
        .ok_or_else(|| Problem::new(Code::UnknownRoute, "the waiting page has no such file"))?;
    let cache = if is_hashed(path) {
        FileCache::Immutable
    } else {
        FileCache::Short
    };
    let config = &state.config;
    let headers = file_headers(media_type, cache, &config.frame_ancestors, !config.local);
    Ok((headers, text).into_response())
}
