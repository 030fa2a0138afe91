//! The answer of a function in the form that API Gateway reads.

use std::collections::BTreeMap;

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, Response, header},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

use super::event::PayloadFormat;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    status_code: u16,
    /// One value for each header. A REST API would repeat a header that is in both maps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    multi_value_headers: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cookies: Vec<String>,
    body: String,
    is_base64_encoded: bool,
}

impl Answer {
    pub(super) fn new(format: PayloadFormat, response: Response<Bytes>) -> Self {
        let (parts, body) = response.into_parts();
        // The body is text if it can be, because the gateway passes base64 on to the client unless it is configured for
        // binary answers.
        let (body, is_base64_encoded) = match str::from_utf8(&body) {
            Ok(text) => (text.to_owned(), false),
            Err(_) => (STANDARD.encode(&body), true),
        };
        let mut answer = Self {
            status_code: parts.status.as_u16(),
            headers: BTreeMap::new(),
            multi_value_headers: BTreeMap::new(),
            cookies: Vec::new(),
            body,
            is_base64_encoded,
        };
        match format {
            PayloadFormat::Rest => answer.multi_value_headers = list_values(&parts.headers),
            PayloadFormat::Http => answer.add_joined_headers(&parts.headers),
        }
        answer
    }

    /// An HTTP API takes one value for each header, and cookies apart.
    fn add_joined_headers(&mut self, headers: &HeaderMap) {
        for (name, values) in list_values(headers) {
            if name == header::SET_COOKIE.as_str() {
                self.cookies = values;
            } else {
                self.headers.insert(name, values.join(", "));
            }
        }
    }
}

fn list_values(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let values = |name: &HeaderName| headers.get_all(name).iter().map(text).collect();
    headers
        .keys()
        .map(|name| (name.as_str().to_owned(), values(name)))
        .collect()
}
