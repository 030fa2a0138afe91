//! A request to the API, independent of how it is sent.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request},
};
use serde_json::Value;

/// A request to the API.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl ApiRequest {
    /// A request without headers and body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    /// A `GET` request.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// A `POST` request.
    pub fn post(path: impl Into<String>) -> Self {
        Self::new(Method::POST, path)
    }

    /// A `DELETE` request.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Names the visitor in the header `X-Visitor-Id`.
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

    /// Sets a JSON body and its content type.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.raw("application/json", body.to_string())
    }

    /// Sets a body of any content type.
    #[must_use]
    pub fn raw(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut request = self.header("content-type", content_type);
        request.body = body.into();
        request
    }

    /// The method and the path, as in the first line of a request.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the method, path, headers and body.
    pub(crate) fn into_parts(self) -> (Method, String, HeaderMap, Vec<u8>) {
        (self.method, self.path, self.headers, self.body)
    }

    /// Returns the request as a router takes it.
    pub(crate) fn into_request(self) -> Request<Body> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path)
            .body(Body::from(self.body))
            .expect("a request");
        *request.headers_mut() = self.headers;
        request
    }
}
