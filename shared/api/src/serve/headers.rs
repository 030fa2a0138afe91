//! The headers of an event, with all values of a repeated header, so that a route which accepts one can refuse several.
//!
//! A gateway, proxy or log in front that reads another value than Vestibule would see another visitor.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::event::{PayloadFormat, RawEvent};
use crate::{problem::Problem, who::visitor::VISITOR_ID};

/// Takes the headers out of an event.
///
/// # Errors
/// A [`Problem`] if HTTP allows no such header, or if there are more than a request can have.
pub(super) fn take_headers(event: &mut RawEvent) -> Result<HeaderMap, Problem> {
    match event.payload_format() {
        PayloadFormat::Rest => rest_api_headers(event),
        PayloadFormat::Http => http_api_headers(event),
    }
    .ok_or_else(|| Problem::invalid_field("headers", "HTTP allows no such header"))
}

/// An event of a REST API has all values of each header in `multiValueHeaders`, and the last value of each in `headers`.
fn rest_api_headers(event: &mut RawEvent) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, values) in event.multi_value_headers.take().unwrap_or_default() {
        for value in values {
            append(&mut headers, &name, &value)?;
        }
    }
    let mut single = HeaderMap::new();
    for (name, value) in event.headers.take().unwrap_or_default() {
        append(&mut single, &name, &value)?;
    }
    for name in headers.keys() {
        single.remove(name);
    }
    for (name, value) in &single {
        headers.try_append(name, value.clone()).ok()?;
    }
    Some(headers)
}

/// An HTTP API joins the values of a repeated header with commas, and lists the cookies.
fn http_api_headers(event: &mut RawEvent) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in event.headers.take().unwrap_or_default() {
        append(&mut headers, &name, &value)?;
    }
    split_visitor_id(&mut headers)?;
    if let Some(cookies) = event.cookies.take() {
        let cookies = HeaderValue::try_from(cookies.join("; ")).ok()?;
        headers.try_insert(header::COOKIE, cookies).ok()?;
    }
    Some(headers)
}

/// `None` if HTTP allows no such header, or if there are too many. Browsers send cookies and addresses that are not ASCII, and
/// HTTP allows their bytes.
fn append(headers: &mut HeaderMap, name: &str, value: &str) -> Option<()> {
    let name = HeaderName::try_from(name).ok()?;
    headers
        .try_append(name, HeaderValue::from_str(value).ok()?)
        .ok()?;
    Some(())
}

/// Splits each value of `X-Visitor-Id` at its commas. A value with a comma may be one or several, so it counts as several.
fn split_visitor_id(headers: &mut HeaderMap) -> Option<()> {
    let joined: Vec<_> = headers.get_all(VISITOR_ID).iter().cloned().collect();
    headers.remove(VISITOR_ID);
    for value in joined
        .iter()
        .flat_map(|joined| joined.as_bytes().split(|byte| *byte == b','))
    {
        headers
            .try_append(VISITOR_ID, HeaderValue::from_bytes(value).ok()?)
            .ok()?;
    }
    Some(())
}
