//! Makes a request for the router out of an event.
//!
//! Whatever the event holds, the result is a request or a [`Problem`]. A client can write the query, the headers and the
//! body, and an operator any field, so nothing here takes a field for valid.

use axum::{
    body::Body,
    http::{Method, Request, Uri},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use lambda_runtime::Context;
use vestibule_domain::uri::percent_encode;

use super::{
    event::{PayloadFormat, RawEvent},
    gateway_context::read_gateway,
    headers::take_headers,
    path::request_path,
};
use crate::problem::Problem;

/// Makes a request that carries what the gateway verified about the caller. No header can set that.
///
/// # Errors
/// A [`Problem`] that names the part of the event of which no request can be made.
pub(super) fn build_request(mut event: RawEvent, context: &Context) -> Result<Request<Body>, Problem> {
    let path = request_path(&event);
    let mut request = Request::new(Body::empty());
    *request.method_mut() = read_method(&event)?;
    *request.uri_mut() = build_uri(&path, &read_query(&event))?;
    *request.headers_mut() = take_headers(&mut event)?;
    *request.body_mut() = read_body(&mut event)?;
    request
        .extensions_mut()
        .insert(read_gateway(event.request_context, context));
    Ok(request)
}

fn read_method(event: &RawEvent) -> Result<Method, Problem> {
    let method = match &event.request_context.http {
        Some(http) => http.method.as_deref(),
        None => event.http_method.as_deref(),
    };
    method
        .and_then(|method| method.parse().ok())
        .ok_or_else(|| Problem::invalid_field("method", "the event names no method of HTTP"))
}

fn build_uri(path: &str, query: &str) -> Result<Uri, Problem> {
    // `Uri` takes a text without a leading slash for a host.
    let invalid_path = || Problem::invalid_field("path", "the path is not one of a URL");
    let path_alone: Uri = path.parse().map_err(|_| invalid_path())?;
    if !path.starts_with('/') {
        return Err(invalid_path());
    }
    if query.is_empty() {
        return Ok(path_alone);
    }
    format!("{path}?{query}").parse().map_err(|_| {
        Problem::invalid_field(
            "query",
            "a character must be percent-encoded, or the query is too long",
        )
    })
}

/// The query. Payload 2.0 has it as the client wrote it, and payload 1.0 has the decoded parameters.
fn read_query(event: &RawEvent) -> String {
    match (event.payload_format(), &event.multi_value_query_string_parameters) {
        (PayloadFormat::Http, _) => event.raw_query_string.clone().unwrap_or_default(),
        (PayloadFormat::Rest, Some(multiple)) if !multiple.is_empty() => encode_query(
            multiple
                .iter()
                .flat_map(|(name, values)| values.iter().map(move |value| (name, value))),
        ),
        (PayloadFormat::Rest, _) => encode_query(event.query_string_parameters.iter().flatten()),
    }
}

fn encode_query<'a>(parameters: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let pairs = parameters.map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn read_body(event: &mut RawEvent) -> Result<Body, Problem> {
    let body = event.body.take().unwrap_or_default();
    if event.is_base64_encoded != Some(true) {
        return Ok(Body::from(body));
    }
    let bytes = STANDARD.decode(body);
    bytes
        .map(Body::from)
        .map_err(|_| Problem::invalid_field("body", "the event says that the body is base64, and it is not"))
}
