//! The sample API of `examples/protected-api` behind the authorizer: a REST API by TOKEN and by REQUEST, and an HTTP
//! API. The gateway of the emulator runs the authorizer. It puts no value of the context into its own answers, so the
//! test reads the reason of a denial from the function itself.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::stack::Stack;

use crate::caller::{Caller, Visitor, wait_for};

/// How many calls the deployed limit allows at once.
const CALLS: usize = 5;

/// The three routes of the sample, and the status without a credential. Only a REQUEST authorizer of a REST API is asked
/// then.
fn routes(stack: &Stack) -> [(String, u16); 3] {
    [
        (format!("{}/orders", stack.sample_rest_api), 403),
        (format!("{}/token/orders", stack.sample_rest_api), 401),
        (format!("{}/orders", stack.sample_http_api), 401),
    ]
}

struct Shop<'a> {
    stack: &'a Stack,
    caller: Caller<'a>,
}

impl<'a> Shop<'a> {
    fn new(stack: &'a Stack) -> Self {
        let caller = Caller::for_stack(stack);
        Self { stack, caller }
    }

    /// Creates a queue, and enters it.
    async fn enter_new_queue(&self, prefix: &str, capacity: u32) -> (String, Visitor) {
        let queue = format!("{prefix}-{}", Uuid::new_v4());
        let settings = json!({ "capacity": capacity, "batch": 5, "interval_seconds": 1 });
        self.stack
            .run_command(json!({ "op": "create", "queue": queue, "settings": settings }))
            .await;
        let visitor = self.caller.enter(&queue).await;
        assert_eq!(visitor.state, "active");
        (queue, visitor)
    }

    /// Orders with these headers.
    async fn order(&self, url: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let caller = Caller::for_url(self.stack, url);
        let mut request = caller.http.request(Method::POST, url).json(&json!({}));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        caller.send(request.build().expect("a request")).await
    }

    async fn order_with_pass(&self, url: &str, pass: &str) -> (u16, Value) {
        self.order(url, &[("authorization", &format!("Bearer {pass}"))])
            .await
    }

    /// The context of the authorizer's denial, as the gateway gets it.
    async fn denial(&self, pass: &str) -> Value {
        let event = json!({
            "type": "TOKEN",
            "authorizationToken": format!("Bearer {pass}"),
            "methodArn": "arn:aws:execute-api:us-east-1:000000000000:sample/v1/POST/orders",
        });
        let mut answer = self
            .stack
            .invoke(self.stack.output("AuthorizerFunction"), &event)
            .await;
        let effect = &answer["policyDocument"]["Statement"][0]["Effect"];
        assert_eq!(effect, "Deny", "{answer}");
        answer["context"].take()
    }
}

fn pass_of(visitor: &Visitor) -> &str {
    visitor.pass.as_deref().expect("a pass")
}

#[tokio::test]
async fn only_admitted_visitors_reach_the_protected_api() {
    let stack = Stack::from_environment();
    let shop = Shop::new(&stack);
    let (queue, visitor) = shop.enter_new_queue("protected", 1).await;
    let waiting = shop.caller.enter(&queue).await;
    assert_eq!(waiting.state, "waiting");
    let (_, foreign) = shop.enter_new_queue("other", 1).await;

    let (head, _) = pass_of(&visitor).rsplit_once('.').expect("a signature");
    let forged = format!("{head}.{}", "A".repeat(86));
    for (url, status_without_credential) in routes(&stack) {
        let (status, body) = shop.order(&url, &[]).await;
        assert_eq!(status, status_without_credential, "{url}: {body}");
        for (what, pass) in [
            ("forged", forged.as_str()),
            ("of a foreign queue", pass_of(&foreign)),
            ("a token alone", &visitor.token),
        ] {
            let (status, body) = shop.order_with_pass(&url, pass).await;
            assert_eq!(status, 403, "{what}, {url}: {body}");
        }
        let (status, body) = shop.order_with_pass(&url, pass_of(&visitor)).await;
        assert_eq!(status, 201, "{url}: {body}");
        assert_eq!(
            body,
            json!({ "placed": true, "entry": visitor.token, "queue": queue }),
            "{url}"
        );
    }
    assert_eq!(shop.denial(&forged).await["reason"], "invalid-pass");

    // A live token counts with the visitor id that owns it, once it has been let in. It names no queue itself.
    let (url, _) = &routes(&stack)[0];
    for (own, expected) in [(&visitor, 201), (&waiting, 403)] {
        let bearer = format!("Bearer {}", own.token);
        let headers = [
            ("authorization", bearer.as_str()),
            ("x-visitor-id", &own.id),
            ("x-vestibule-queue", &queue),
        ];
        let (status, body) = shop.order(url, &headers).await;
        assert_eq!(status, expected, "{body}");
    }

    // The visitor is done: the pass opens nothing any more, although it has not expired.
    let path = format!("/queues/{queue}/entries/{}/complete", visitor.token);
    let (status, body) = shop.caller.call_signed(&path, json!({})).await;
    assert_eq!(status, 204, "{body}");
    let (status, body) = shop.order_with_pass(url, pass_of(&visitor)).await;
    assert_eq!(status, 403, "{body}");
    assert_no_secret_in_the_log(&stack, &[&visitor, &waiting]).await;
}

#[tokio::test]
async fn a_visitor_who_calls_too_often_is_told_when_to_come_back() {
    let stack = Stack::from_environment();
    let shop = Shop::new(&stack);
    let (queue, visitor) = shop.enter_new_queue("protected", 2).await;
    let other = shop.caller.enter(&queue).await;
    let urls = routes(&stack);
    // All APIs of the deployment count together.
    for (url, _) in urls.iter().cycle().take(CALLS) {
        let (status, body) = shop.order_with_pass(url, pass_of(&visitor)).await;
        assert_eq!(status, 201, "{url}: {body}");
    }
    for (url, _) in &urls {
        let (status, body) = shop.order_with_pass(url, pass_of(&visitor)).await;
        assert_eq!(status, 403, "{url}: {body}");
    }
    let denial = shop.denial(pass_of(&visitor)).await;
    assert_eq!(denial["reason"], "too-many-calls", "{denial}");
    assert_eq!(denial["queue"], queue, "{denial}");
    let seconds = denial["retry_after_seconds"].as_u64().expect("a time");
    assert!((1..=120).contains(&seconds), "{denial}");
    let (status, body) = shop.order_with_pass(&urls[0].0, pass_of(&other)).await;
    assert_eq!(status, 201, "{body}");
}

/// The log says why a request was denied, and never who the visitor is.
async fn assert_no_secret_in_the_log(stack: &Stack, visitors: &[&Visitor]) {
    let group = format!("/vestibule/{}/authorizer", stack.name);
    let lines = wait_for("the log has a denial", async || {
        let lines = stack.read_log(&group).await;
        let text = lines.iter().map(Value::to_string).collect::<String>();
        text.contains("invalid-pass").then_some(text)
    })
    .await;
    for visitor in visitors {
        assert!(!lines.contains(&visitor.id), "the log has a visitor id");
        if let Some(pass) = &visitor.pass {
            assert!(!lines.contains(pass.as_str()), "the log has a pass");
        }
    }
}
