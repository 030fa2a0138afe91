use axum::{body::Body, extract::MatchedPath, http::Request, routing::get};
use tower::ServiceExt;
use vestibule_wire::Code;

use super::*;
use crate::html::message_text::MessageText;

/// Reads a request as the layer does, behind a router that matches its path.
async fn read_request(address: &'static str) -> PageRequest {
    let (sender, receiver) = std::sync::mpsc::channel();
    let handler = async move |_: MatchedPath, request: axum::extract::Request| {
        sender.send(PageRequest::read(&request)).expect("the test waits");
    };
    let request = Request::get(address)
        .header("accept", "text/html")
        .body(Body::empty());
    let router = axum::Router::new().route("/queues/{queue}/entries/{token}", get(handler));
    let Ok(_) = router.oneshot(request.expect("a request")).await;
    let read = receiver.recv().expect("the route matched");
    read.expect("a browser gets a page")
}

#[tokio::test]
async fn texts_of_others_are_text_and_never_markup() {
    let request = read_request("/queues/a/entries/x?return=%22%3E%3Cscript%3E").await;
    let hostile = "<script>alert('1')</script>&\"";
    let screen = Screen {
        name: "turn",
        message: MessageText {
            language: hostile.to_owned(),
            text: hostile.to_owned(),
        },
        code: Some(Code::Blocked),
        lines: vec![hostile.to_owned()],
        action: Some(Action::Claim {
            token: hostile.to_owned(),
            text: hostile.to_owned(),
        }),
        ..Screen::default()
    };
    let html = write_document(&request, &screen);
    assert!(!html.contains("<script"), "{html}");
    let escaped = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;";
    assert_eq!(html.matches(escaped).count(), 5, "{html}");
    assert!(html.contains("/claim?return=%22%3E%3Cscript%3E\""), "{html}");
}

#[tokio::test]
async fn a_page_is_in_the_language_and_direction_of_the_link() {
    let request = read_request("/queues/a/entries/x?lang=ar").await;
    let html = write_document(&request, &Screen::default());
    assert!(html.contains("<html lang=\"ar\" dir=\"rtl\">"), "{html}");
    assert_eq!(request.start_reference(), "../entries?lang=ar");
}

#[test]
fn only_a_form_to_claim_may_lead_to_the_shop() {
    let mut screen = Screen::default();
    let enters = policy(&screen, false, "'none'");
    assert!(enters.contains("form-action 'self';"), "{enters}");
    assert!(
        enters.starts_with("default-src 'none';")
            && !enters.contains("script-src")
            && !enters.contains("unsafe"),
        "{enters}"
    );
    screen.action = Some(Action::Claim {
        token: String::new(),
        text: String::new(),
    });
    let claims = policy(&screen, false, "'none'");
    assert!(claims.contains("form-action 'self' https:;"), "{claims}");
    let claims_locally = policy(&screen, true, "'none'");
    assert!(
        claims_locally.contains("form-action 'self' https: http:;"),
        "{claims_locally}"
    );
}
