//! The waiting page of the deployed stack. That a visitor without JavaScript comes from its form to a pass is a case of the
//! HTTP suite, which runs against the deployed stack, too.

use reqwest::{Client, Method, Response, redirect::Policy};
use vestibule_tests::{servers::client_for_url, stack::Stack};

fn client(stack: &Stack) -> Client {
    let builder = client_for_url(stack.api.as_str()).redirect(Policy::none());
    builder.build().expect("a client")
}

async fn send(stack: &Stack, method: Method, path: &str) -> Response {
    let url = format!("{}{path}", stack.api);
    let answer = client(stack).request(method, url).send().await;
    answer.expect("the gateway answers")
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers()[name].to_str().expect("text")
}

#[tokio::test]
async fn the_deployed_stack_serves_the_page_and_its_files() {
    let stack = Stack::from_environment();
    let page = send(&stack, Method::GET, "/").await;
    assert_eq!(page.status(), 200);
    assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
    assert_eq!(header(&page, "cache-control"), "public, max-age=60");
    assert_eq!(header(&page, "strict-transport-security"), "max-age=31536000");
    let policy = header(&page, "content-security-policy");
    assert!(
        policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    let html = page.text().await.expect("a text");
    let in_english = send(&stack, Method::GET, "/pages/en.html").await;
    assert_eq!(in_english.text().await.expect("a text"), html);
    let theme = send(&stack, Method::GET, "/theme.json").await;
    assert_eq!(
        (
            theme.status().as_u16(),
            theme.text().await.expect("a text").as_str()
        ),
        (200, "{}")
    );
    let unknown = send(&stack, Method::GET, "/pages/xx.html").await;
    assert_eq!(unknown.status(), 404);
}

#[tokio::test]
async fn the_form_of_the_page_leads_to_the_page_without_javascript() {
    let stack = Stack::from_environment();
    let answer = send(&stack, Method::POST, "/?queue=a:1&return=%2Fx").await;
    assert_eq!(answer.status(), 303);
    assert_eq!(header(&answer, "location"), "queues/a:1/entries?return=%2Fx");
}

#[test]
fn the_outputs_lead_to_the_page_and_the_keys() {
    let stack = Stack::from_environment();
    // An emulator has no distribution, so the page is at the address of the API.
    assert_eq!(stack.output("WaitingRoomUrl"), stack.output("ApiUrl"));
    let keys = format!("{}/.well-known/jwks.json", stack.output("WaitingRoomUrl"));
    assert_eq!(stack.output("JwksUrl"), keys);
}
