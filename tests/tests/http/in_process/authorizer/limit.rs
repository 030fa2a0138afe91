//! The authorizer: how often a visitor may call, and what it does while the line is unavailable.

use serde_json::{Value, json};
use vestibule_api::config::AuthorizerConfig;
use vestibule_domain::call_limit::CallLimit;
use vestibule_faults::Fault;
use vestibule_tests::in_process::{InProcessApi, QUEUE};

use super::{super::enter_and_expect_created, ask, config_for, event_with_pass};

super::super::cases![
    the_sixth_call_is_denied_until_one_comes_back,
    an_unproven_caller_spends_no_call,
    a_limit_shields_the_line,
    an_outage_denies_and_says_when_to_try_again,
    an_open_queue_honours_a_pass_in_an_outage,
    an_outage_of_the_limit_counts_as_one_of_the_line,
];

fn limited() -> AuthorizerConfig {
    AuthorizerConfig {
        limit: Some(CallLimit::default()),
        ..config_for(QUEUE)
    }
}

fn other_pass_of_the_visitor(pass: &str) -> Value {
    let mut event = event_with_pass(pass);
    event["multiValueHeaders"]["X-Visitor-Id"] = json!(["11111111-1111-4111-8111-111111111111"]);
    event
}

async fn the_sixth_call_is_denied_until_one_comes_back() {
    let api = InProcessApi::start(json!({})).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let (_, other) = enter_and_expect_created(&api).await;
    // Every process of the function counts the same calls.
    let (one, another) = (api.start_authorizer(limited()), api.start_authorizer(limited()));
    let event = || event_with_pass(entered.text("pass"));
    for call in 0..5 {
        let authorizer = if call % 2 == 0 { &one } else { &another };
        ask(authorizer, event()).await.expect_allowed();
    }
    for authorizer in [&one, &another] {
        let denied = ask(authorizer, event()).await;
        denied.expect_denied("too-many-calls");
        assert_eq!(denied.context["retry_after_seconds"], 2);
        assert_eq!(denied.context["title"], "Too many calls");
    }
    ask(&one, event_with_pass(other.text("pass")))
        .await
        .expect_allowed();
    api.advance_seconds(2);
    ask(&one, event()).await.expect_allowed();
    ask(&one, event()).await.expect_denied("too-many-calls");
    api.advance_seconds(10);
    for _ in 0..5 {
        ask(&another, event()).await.expect_allowed();
    }
}

/// A thief who knows the token, or has a pass but not the visitor id, cannot lock the visitor out.
async fn an_unproven_caller_spends_no_call() {
    let api = InProcessApi::start(json!({})).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let authorizer = api.start_authorizer(limited());
    let pass = entered.text("pass");
    let (head, _) = pass.rsplit_once('.').expect("a signature");
    for _ in 0..10 {
        ask(&authorizer, event_with_pass(&format!("{head}.AAAA")))
            .await
            .expect_denied("invalid-pass");
        ask(&authorizer, other_pass_of_the_visitor(pass))
            .await
            .expect_denied("token-owner-mismatch");
    }
    for _ in 0..5 {
        ask(&authorizer, event_with_pass(pass)).await.expect_allowed();
    }
}

async fn a_limit_shields_the_line() {
    let api = InProcessApi::start(json!({})).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let authorizer = api.start_authorizer(limited());
    for _ in 0..5 {
        ask(&authorizer, event_with_pass(entered.text("pass")))
            .await
            .expect_allowed();
    }
    let validations = api.faults.calls("validate");
    for _ in 0..20 {
        ask(&authorizer, event_with_pass(entered.text("pass")))
            .await
            .expect_denied("too-many-calls");
    }
    assert_eq!(api.faults.calls("validate"), validations);
}

async fn an_outage_denies_and_says_when_to_try_again() {
    let api = InProcessApi::start(json!({})).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let authorizer = api.start_authorizer(limited());
    api.faults.fail_all(Fault::Unavailable);
    let denied = ask(&authorizer, event_with_pass(entered.text("pass"))).await;
    denied.expect_denied("line-unavailable");
    assert!(
        denied.context["retry_after_seconds"].as_u64() > Some(0),
        "{denied:?}"
    );
}

async fn an_open_queue_honours_a_pass_in_an_outage() {
    let settings = json!({ "on_outage": "open", "outage_grace_seconds": 60 });
    let api = InProcessApi::start(settings).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let authorizer = api.start_authorizer(limited());
    api.faults.fail_all(Fault::Unavailable);
    let answer = ask(&authorizer, event_with_pass(entered.text("pass"))).await;
    answer.expect_allowed();
    assert_eq!(answer.context["degraded"], true);
    let forged = entered.text("pass").replace('.', "-");
    ask(&authorizer, event_with_pass(&forged))
        .await
        .expect_denied("invalid-pass");
}

async fn an_outage_of_the_limit_counts_as_one_of_the_line() {
    for (on_outage, is_allowed) in [("open", true), ("closed", false)] {
        let api = InProcessApi::start(json!({ "on_outage": on_outage })).await;
        let (_, entered) = enter_and_expect_created(&api).await;
        let authorizer = api.start_authorizer(limited());
        api.faults.fail("take_call", Fault::Unavailable);
        let answer = ask(&authorizer, event_with_pass(entered.text("pass"))).await;
        assert_eq!(answer.allowed, is_allowed, "{on_outage}: {answer:?}");
    }
}
