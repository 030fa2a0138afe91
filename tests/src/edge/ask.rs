//! Requests, and what comes back.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode},
};
use serde_json::Value;

use super::QUEUE;

/// A request.
pub struct Ask {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Ask {
    /// Of a path.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    /// `GET`
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// `POST`
    pub fn post(path: impl Into<String>) -> Self {
        Self::new(Method::POST, path)
    }

    /// `DELETE`
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Enters the queue.
    pub fn enter() -> Self {
        Self::post(format!("/queues/{QUEUE}/entries"))
    }

    /// Names the visitor in the header.
    #[must_use]
    pub fn visitor(self, id: &str) -> Self {
        self.header("x-visitor-id", id)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        self.headers.append(HeaderName::from_static(name), value);
        self
    }

    /// With a body in JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.raw("application/json", body.to_string())
    }

    /// With any body of a type.
    #[must_use]
    pub fn raw(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut ask = self.header("content-type", content_type);
        ask.body = body.into();
        ask
    }

    /// For whoever sends it another way: method, path, headers and body.
    pub(crate) fn into_parts(self) -> (Method, String, HeaderMap, Vec<u8>) {
        (self.method, self.path, self.headers, self.body)
    }

    pub(super) fn into_request(self) -> Request<Body> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path)
            .body(Body::from(self.body))
            .expect("a request");
        *request.headers_mut() = self.headers;
        request
    }
}

/// Where an entry is.
pub fn entry(token: &str) -> String {
    format!("/queues/{QUEUE}/entries/{token}")
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body in JSON; `null` where there is none.
    pub body: Value,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: &[u8]) -> Self {
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).expect("every body is JSON")
        };
        Self {
            status,
            headers,
            body,
        }
    }

    /// A field of the body as text.
    pub fn text(&self, name: &str) -> &str {
        self.body[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// A field of the body as a number.
    pub fn number(&self, name: &str) -> u64 {
        self.body[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> &str {
        let value = self
            .headers
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {self:?}"));
        value.to_str().expect("text")
    }

    /// Whether it is this one.
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Whether it is a whole problem of this status and code.
    pub fn is_problem(&self, status: u16, code: &str) -> &Self {
        self.is(status);
        assert_eq!(self.text("code"), code, "{self:?}");
        assert_eq!(self.number("status"), u64::from(status));
        assert_eq!(self.text("type"), format!("urn:problem-type:vestibule:{code}"));
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.header("cache-control"), "no-store");
        assert_eq!(self.text("request_id"), self.header("x-request-id"));
        assert!(!self.text("title").is_empty() && !self.text("detail").is_empty());
        self
    }

    /// Whether it refuses this field by name.
    pub fn refuses(&self, field: &str) -> &Self {
        self.is_problem(400, "invalid-field");
        assert_eq!(self.text("field"), field, "{self:?}");
        self
    }
}
