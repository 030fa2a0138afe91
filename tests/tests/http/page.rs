//! The waiting page, as every way of running Vestibule serves it.

use serde_json::json;
use vestibule_tests::api::{ApiRequest, Backend, BackendKind};

crate::cases![
    the_page_is_served_with_a_strict_policy,
    the_page_is_in_the_language_of_the_link_or_the_browser,
    a_browser_without_javascript_is_led_from_the_page_to_its_own,
];

/// The routes in the process of the tests are those of the API alone.
fn has_page(backend: &Backend) -> bool {
    backend.kind != BackendKind::InProcess
}

async fn the_page_is_served_with_a_strict_policy(backend: &Backend) {
    if !has_page(backend) {
        return;
    }
    let page = backend.send(ApiRequest::get("/")).await;
    let html = page.expect_status(200).body.as_str().expect("a page");
    assert!(html.contains("<html lang=\"en\""), "{html}");
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("script-src 'self' 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    // The runner's console may show the page to the operator in a frame.
    let framed_by = if backend.kind.has_no_gateway() {
        "frame-ancestors 'self'"
    } else {
        "frame-ancestors 'none'"
    };
    assert!(policy.contains(framed_by), "{policy}");
    let has_tls = page.headers.contains_key("strict-transport-security");
    assert_eq!(has_tls, !backend.kind.has_no_gateway(), "{page:?}");
    let theme = backend.send(ApiRequest::get("/theme.json")).await;
    assert_eq!(theme.expect_status(200).body, json!({}));
    let unknown = backend.send(ApiRequest::get("/pages/xx.html")).await;
    unknown.expect_problem(404, "unknown-route");
}

async fn the_page_is_in_the_language_of_the_link_or_the_browser(backend: &Backend) {
    if !has_page(backend) {
        return;
    }
    for (path, accepted, language) in [
        ("/", "ja, en;q=0.5", "ja"),
        ("/?lang=ko", "ja", "ko"),
        ("/?lang=constructor", "", "en"),
        ("/pages/ar.html", "ja", "ar"),
    ] {
        let page = backend
            .send(ApiRequest::get(path).header("accept-language", accepted))
            .await;
        let html = page.expect_status(200).body.as_str().expect("a page");
        assert!(html.contains(&format!("<html lang=\"{language}\"")), "{path}");
        let varies = page
            .headers
            .get("vary")
            .is_some_and(|vary| vary.to_str().is_ok_and(|vary| vary.contains("accept-language")));
        assert!(varies || path.starts_with("/pages"), "{path}");
    }
}

async fn a_browser_without_javascript_is_led_from_the_page_to_its_own(backend: &Backend) {
    if !has_page(backend) {
        return;
    }
    let form = ApiRequest::post("/?queue=demo:1&return=%2Fitem%2F7&other=x");
    let form = form.raw("application/x-www-form-urlencoded", "");
    let answer = backend.send(form).await;
    let location = answer.expect_status(303).header("location");
    // The reference is relative, because the API's own address has a stage in its paths.
    assert_eq!(location, "queues/demo:1/entries?return=%2Fitem%2F7");
    let refused = backend.send(ApiRequest::post("/?queue=%2F%2Fevil.example")).await;
    refused.expect_invalid_field("queue");
}
