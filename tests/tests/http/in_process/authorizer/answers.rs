//! What the answers of the authorizer say, for every kind of event.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use vestibule_api::authorizer::InvalidEvent;
use vestibule_tests::{
    in_process::{InProcessApi, QUEUE},
    template::read_sample_api,
};

use super::{
    super::enter_and_expect_created, Answer, ask, authorizer, config_for, event_with_pass, recorded_event,
    request_event,
};

super::super::cases![
    every_kind_of_event_is_answered_in_its_form,
    an_allowed_request_says_who_calls,
    a_request_without_a_credential_learns_the_queue,
    other_events_are_refused,
    the_sample_api_shows_a_denial,
];

async fn every_kind_of_event_is_answered_in_its_form() {
    let api = InProcessApi::start(json!({})).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let authorizer = authorizer(&api);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../infra/events");
    let files = fs::read_dir(folder).expect("the folder");
    let mut names: Vec<String> = files
        .filter_map(|file| {
            let path = file.expect("readable").path();
            Some(
                path.file_stem()?
                    .to_str()?
                    .strip_prefix("authorizer-")?
                    .to_owned(),
            )
        })
        .collect();
    names.sort();
    assert_eq!(names, ["http-api", "http-api-1", "request", "token"]);
    for name in names {
        for (pass, allowed) in [(entered.text("pass"), true), ("forged", false)] {
            let event = recorded_event(&name, pass);
            let answer = authorizer.authorize(event.clone()).await.expect("an event");
            assert_eq!(Answer::from_json(&answer).allowed, allowed, "{name}: {answer}");
            if name == "http-api" {
                assert_eq!(answer["isAuthorized"], allowed);
                continue;
            }
            let expected = json!({
                "Version": "2012-10-17",
                "Statement": [{
                    "Action": "execute-api:Invoke",
                    "Effect": if allowed { "Allow" } else { "Deny" },
                    "Resource": event["methodArn"],
                }],
            });
            assert_eq!(answer["policyDocument"], expected, "{name}");
            let principal = if allowed { entered.text("token") } else { "unknown" };
            assert_eq!(answer["principalId"], principal, "{name}");
        }
    }
}

async fn an_allowed_request_says_who_calls() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let answer = ask(&authorizer(&api), event_with_pass(entered.text("pass"))).await;
    answer.expect_allowed();
    let expected = json!({
        "queue": QUEUE,
        "entry": guest.token,
        "visit": guest.visit,
        "state": "active",
        "expires_at_ms": entered.body["expires_at_ms"],
        "degraded": false,
    });
    assert_eq!(answer.context, expected);
    // The header for APIs that use `Authorization` themselves comes first.
    let own = request_event(&[
        ("X-Vestibule-Pass", entered.text("pass")),
        ("Authorization", "Bearer of-the-shop"),
    ]);
    ask(&authorizer(&api), own).await.expect_allowed();
    let token_event = json!({
        "type": "TOKEN", "methodArn": "arn:aws:execute-api:a:1:b/c/GET/", "authorizationToken": entered.text("pass"),
    });
    ask(&authorizer(&api), token_event).await.expect_allowed();
}

async fn a_request_without_a_credential_learns_the_queue() {
    let api = InProcessApi::start(json!({})).await;
    let authorizer = authorizer(&api);
    for headers in [
        &[][..],
        &[("Authorization", "")],
        &[("Authorization", "AWS4-HMAC-SHA256 Credential=a")],
    ] {
        let answer = ask(&authorizer, request_event(headers)).await;
        answer.expect_denied("visitor-required");
        assert_eq!(answer.context["queue"], QUEUE);
        assert_eq!(answer.context["title"], "Only the visitor may do this");
    }
    let mut twice = request_event(&[]);
    twice["multiValueHeaders"]["Authorization"] = json!(["Bearer a", "Bearer b"]);
    ask(&authorizer, twice).await.expect_denied("invalid-field");
    let answer = ask(&api.start_authorizer(config_for("*")), request_event(&[])).await;
    answer.expect_denied("visitor-required");
    assert_eq!(answer.context["queue"], "", "there may be several");
}

async fn other_events_are_refused() {
    let api = InProcessApi::start(json!({})).await;
    let authorizer = authorizer(&api);
    for event in [
        json!({}),
        json!("TOKEN"),
        json!({ "type": "TOKEN", "authorizationToken": "Bearer a" }),
        json!({ "type": "TOKEN", "methodArn": "arn:aws:execute-api:a:1:b/c/GET/" }),
        json!({ "type": "REQUEST", "headers": {} }),
        json!({ "type": "OTHER", "methodArn": "arn:aws:execute-api:a:1:b/c/GET/" }),
    ] {
        let refused = authorizer.authorize(event.clone()).await;
        assert_eq!(refused.expect_err("not an event"), InvalidEvent, "{event}");
    }
}

/// The gateway replaces the variables of the template by the texts of the context, and escapes nothing.
async fn the_sample_api_shows_a_denial() {
    let api = InProcessApi::start(json!({})).await;
    let denied = ask(&authorizer(&api), event_with_pass("forged")).await;
    let sample = read_sample_api();
    let response = &sample["Resources"]["RestApi"]["Properties"]["GatewayResponses"]["ACCESS_DENIED"];
    let template = response["ResponseTemplates"]["application/json"].as_str();
    let mut body = template.expect("a template").replace("$context.requestId", "1");
    for (name, value) in denied.context.as_object().expect("a context") {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        body = body.replace(&format!("$context.authorizer.{name}"), &text);
    }
    let body: Value = serde_json::from_str(&body).expect("JSON, without a variable that the context lacks");
    let expected = json!({
        "type": "urn:problem-type:vestibule:invalid-pass",
        "title": "The pass is not valid",
        "status": 403,
        "code": "invalid-pass",
        "retry_after_seconds": 0,
        "queue": QUEUE,
        "request_id": "1",
    });
    assert_eq!(body, expected);
    let header = &response["ResponseParameters"]["Headers"]["Retry-After"];
    assert_eq!(header, "context.authorizer.retry_after_seconds");
}
