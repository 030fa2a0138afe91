//! A browser without JavaScript, and what its pages must have.

use axum::http::header;
use vestibule_tests::api::{ApiRequest, ApiResponse, Backend, Queue};

/// What a browser accepts for a page.
pub(crate) const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A browser with a cookie.
pub(crate) struct Browser<'a> {
    pub(crate) backend: &'a Backend,
    pub(crate) cookie: String,
    pub(crate) languages: &'static str,
}

impl<'a> Browser<'a> {
    /// Opens the page from which visitors enter, which sets the cookie.
    pub(crate) async fn start(queue: &Queue<'a>, languages: &'static str) -> (Self, ApiResponse) {
        let newcomer = Self {
            backend: queue.backend,
            cookie: String::new(),
            languages,
        };
        let page = newcomer.open(&queue.path("/entries?return=%2Fitem%2F7")).await;
        let set_cookie = page.expect_status(200).header("set-cookie");
        let cookie = set_cookie.split(';').next().expect("a pair").to_owned();
        (Self { cookie, ..newcomer }, page)
    }

    pub(crate) async fn open(&self, path: &str) -> ApiResponse {
        self.backend.send(self.request(ApiRequest::get(path))).await
    }

    /// Sends a form of a page of the backend.
    pub(crate) async fn submit(&self, path: &str) -> ApiResponse {
        let request = ApiRequest::post(path).header("origin", &self.backend.own_origin());
        self.backend.send(self.request(request).raw(FORM, "")).await
    }

    pub(crate) fn request(&self, request: ApiRequest) -> ApiRequest {
        let request = request
            .header("accept", BROWSER)
            .header("accept-language", self.languages);
        match self.cookie.as_str() {
            "" => request,
            cookie => request.header("cookie", cookie),
        }
    }
}

/// Asserts that this is a page in a state, which no cache keeps and which runs no script. Returns its text.
pub(crate) fn expect_page<'a>(response: &'a ApiResponse, state: &str) -> &'a str {
    assert_eq!(
        response.header("content-type"),
        "text/html; charset=utf-8",
        "{response:?}"
    );
    assert_eq!(response.header("cache-control"), "no-store");
    let policy = response.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none';") && !policy.contains("script-src"),
        "{policy}"
    );
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    // With no-referrer, a browser would send a form without its origin.
    assert_eq!(response.header("referrer-policy"), "same-origin");
    assert!(
        varies_by(response, "accept") && varies_by(response, "accept-language"),
        "{response:?}"
    );
    let html = response.body.as_str().expect("a page");
    assert!(
        html.contains(&format!("<body data-state=\"{state}\"")),
        "{state}: {html}"
    );
    assert!(!html.contains("<script"), "{html}");
    html
}

pub(crate) fn varies_by(response: &ApiResponse, name: &str) -> bool {
    let values = response.headers.get_all(header::VARY).iter();
    let names = values.flat_map(|value| value.to_str().expect("text").split(','));
    names
        .map(str::trim)
        .any(|listed| listed.eq_ignore_ascii_case(name))
}

/// The path to which the only form of a page goes. The page is at `path`.
pub(crate) fn form_path(path: &str, html: &str) -> String {
    let (_, rest) = html
        .split_once("<form method=\"post\" action=\"")
        .expect("a form");
    let (action, rest) = rest.split_once('"').expect("an action");
    assert!(!rest.contains("<form"), "the page has one form: {html}");
    resolve(path, &action.replace("&amp;", "&"))
}

/// Resolves a relative reference, as browsers do.
pub(crate) fn resolve(path: &str, reference: &str) -> String {
    let base = reqwest::Url::parse(&format!("http://any{path}")).expect("a URL");
    let url = base.join(reference).expect("a reference");
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{query}", url.path())
}
