//! A response of the API, and the assertions that the suites make about it.

use axum::http::{HeaderMap, StatusCode, header};
use serde_json::Value;

/// A response of the API.
#[derive(Debug)]
pub struct ApiResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The JSON body, the text of a page, or `null` if the body is empty.
    pub body: Value,
    /// The body as it was sent.
    pub bytes: Vec<u8>,
}

impl ApiResponse {
    /// Parses the body as JSON, unless it is a page.
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, bytes: &[u8]) -> Self {
        let kind = headers.get(header::CONTENT_TYPE);
        let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let body = if bytes.is_empty() {
            Value::Null
        } else if is_page {
            String::from_utf8(bytes.to_vec())
                .expect("every page is UTF-8")
                .into()
        } else {
            serde_json::from_slice(bytes).expect("every body is JSON")
        };
        Self {
            status,
            headers,
            body,
            bytes: bytes.to_vec(),
        }
    }

    /// Returns a text field of the body.
    pub fn text(&self, name: &str) -> &str {
        self.body[name]
            .as_str()
            .unwrap_or_else(|| panic!("no text {name} in {self:?}"))
    }

    /// Returns a number field of the body.
    pub fn number(&self, name: &str) -> u64 {
        self.body[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no number {name} in {self:?}"))
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> &str {
        let value = self
            .headers
            .get(name)
            .unwrap_or_else(|| panic!("no header {name} in {self:?}"));
        value.to_str().expect("text")
    }

    /// Asserts the status.
    pub fn expect_status(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Asserts that this is a complete problem document with this status and code, which no cache keeps.
    pub fn expect_problem(&self, status: u16, code: &str) -> &Self {
        self.expect_problem_kept(status, code, "no-store")
    }

    /// The same for the answer that there is no public document, which caches may keep as long as a document.
    pub fn expect_absent_document(&self, status: u16, code: &str) -> &Self {
        self.expect_problem_kept(status, code, "public, max-age=2")
    }

    fn expect_problem_kept(&self, status: u16, code: &str, cache_control: &str) -> &Self {
        self.expect_status(status);
        assert_eq!(self.text("code"), code, "{self:?}");
        assert_eq!(self.number("status"), u64::from(status));
        assert_eq!(self.text("type"), format!("urn:problem-type:vestibule:{code}"));
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.header("cache-control"), cache_control);
        assert_eq!(self.text("request_id"), self.header("x-request-id"));
        assert!(!self.text("title").is_empty() && !self.text("detail").is_empty());
        self
    }

    /// Asserts that the request was refused because of this field.
    pub fn expect_invalid_field(&self, field: &str) -> &Self {
        self.expect_problem(400, "invalid-field");
        assert_eq!(self.text("field"), field, "{self:?}");
        self
    }

    /// Asserts that the body does not contain any of these fields.
    pub fn expect_absent(&self, fields: &[&str]) -> &Self {
        for field in fields {
            assert!(self.body.get(field).is_none(), "{field} does not apply: {self:?}");
        }
        self
    }
}
