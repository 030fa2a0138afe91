//! Which passes the authorizer accepts.

use serde_json::json;
use uuid::Uuid;
use vestibule_api::pass::{PassSigner, new_key_pem};
use vestibule_tests::in_process::{ApiRequest, ISSUER, InProcessApi, QUEUE, signer};

use super::{
    super::enter_and_expect_created, ask, authorizer, complete, config_for, event_with_pass,
    event_with_token, request_event, sign_pass,
};

super::super::cases![
    a_finished_visit_is_denied,
    a_pass_that_is_not_valid_is_denied,
    a_pass_of_an_unlisted_queue_is_denied,
    a_stage_may_admit_fewer_queues,
    a_stolen_pass_of_a_named_visitor_is_denied,
];

async fn a_finished_visit_is_denied() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let authorizer = authorizer(&api);
    ask(&authorizer, event_with_pass(entered.text("pass")))
        .await
        .expect_allowed();
    complete(&api, &guest).await;
    ask(&authorizer, event_with_pass(entered.text("pass")))
        .await
        .expect_denied("completed");
    ask(&authorizer, event_with_token(&guest.token, &guest.id))
        .await
        .expect_denied("completed");

    // The visitor enters again. The pass of the former visit opens nothing.
    let again = api.send(ApiRequest::enter().visitor(&guest.id)).await;
    let again = again.expect_status(201);
    ask(&authorizer, event_with_pass(entered.text("pass")))
        .await
        .expect_denied("other-visit");
    ask(&authorizer, event_with_pass(again.text("pass")))
        .await
        .expect_allowed();
}

async fn a_pass_that_is_not_valid_is_denied() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let (other, _) = enter_and_expect_created(&api).await;
    let authorizer = authorizer(&api);
    let foreign_key = PassSigner::from_pem(ISSUER, &new_key_pem(|| [9; 32])).expect("a key");
    let foreign_issuer =
        PassSigner::from_pem("https://other.example", &new_key_pem(|| [3; 32])).expect("a key");
    let good = sign_pass(&signer(), &api, &guest, (QUEUE, 1, 0));
    ask(&authorizer, event_with_pass(&good)).await.expect_allowed();
    // The claims of another entry with the signature of this one.
    let (head, signature) = good.rsplit_once('.').expect("a signature");
    let others = sign_pass(&signer(), &api, &other, (QUEUE, 1, 0));
    let (others_head, _) = others.rsplit_once('.').expect("a signature");
    assert_ne!(head, others_head);
    for (what, pass) in [
        (
            "signed by another key",
            sign_pass(&foreign_key, &api, &guest, (QUEUE, 1, 0)),
        ),
        (
            "of another issuer",
            sign_pass(&foreign_issuer, &api, &guest, (QUEUE, 1, 0)),
        ),
        ("changed", format!("{others_head}.{signature}")),
        ("unsigned", format!("{head}.")),
        ("expired", sign_pass(&signer(), &api, &guest, (QUEUE, 1, 61))),
        (
            "of an earlier epoch",
            sign_pass(&signer(), &api, &guest, (QUEUE, 0, 0)),
        ),
        ("no JWT", entered.text("pass").replace('.', "-")),
    ] {
        let answer = ask(&authorizer, event_with_pass(&pass)).await;
        assert!(!answer.allowed, "{what}");
        answer.expect_denied("invalid-pass");
        assert_eq!(answer.context["retry_after_seconds"], 0, "{what}");
    }
}

async fn a_pass_of_an_unlisted_queue_is_denied() {
    let api = InProcessApi::start(json!({})).await;
    api.create_queue("RAFFLE:1", json!({})).await;
    let (_, entered) = enter_and_expect_created(&api).await;
    let visitor = Uuid::new_v4().to_string();
    let foreign = api
        .send(ApiRequest::post("/queues/RAFFLE:1/entries".to_owned()).visitor(&visitor))
        .await;
    let foreign = foreign.expect_status(201);
    let (own, raffle) = (entered.text("pass"), foreign.text("pass"));
    for (list, own_is_allowed, raffle_is_allowed) in [
        (QUEUE, true, false),
        ("RAFFLE:*", false, true),
        ("TIMEDEAL:*, RAFFLE:1", true, true),
        ("*", true, true),
        ("", false, false),
    ] {
        let authorizer = api.start_authorizer(config_for(list));
        for (pass, is_allowed) in [(own, own_is_allowed), (raffle, raffle_is_allowed)] {
            let answer = ask(&authorizer, event_with_pass(pass)).await;
            assert_eq!(answer.allowed, is_allowed, "{list}: {answer:?}");
            if !is_allowed {
                answer.expect_denied("invalid-pass");
            }
        }
    }
}

/// Two APIs with one authorizer: each stage names its own queues, and never more than the configuration has.
async fn a_stage_may_admit_fewer_queues() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let authorizer = api.start_authorizer(config_for("TIMEDEAL:*"));
    for (of_stage, is_allowed) in [
        (QUEUE, true),
        ("TIMEDEAL:9,TIMEDEAL:123", true),
        ("TIMEDEAL:9", false),
        ("not a list", false),
    ] {
        let mut event = event_with_pass(entered.text("pass"));
        event["stageVariables"] = json!({ "vestibule_queues": of_stage });
        let answer = ask(&authorizer, event).await;
        assert_eq!(answer.allowed, is_allowed, "{of_stage}: {answer:?}");
    }
    // The only queue of the stage is also that of a token.
    let mut event = event_with_token(&guest.token, &guest.id);
    ask(&authorizer, event.clone())
        .await
        .expect_denied("unknown-queue");
    event["stageVariables"] = json!({ "vestibule_queues": QUEUE });
    ask(&authorizer, event.clone()).await.expect_allowed();
    event["stageVariables"] = json!({ "vestibule_queues": "RAFFLE:1" });
    ask(&authorizer, event).await.expect_denied("unknown-queue");
}

/// A client that sends its visitor id with the pass is safe from a thief who has the pass only by its own id.
async fn a_stolen_pass_of_a_named_visitor_is_denied() {
    let api = InProcessApi::start(json!({})).await;
    let (guest, entered) = enter_and_expect_created(&api).await;
    let bearer = format!("Bearer {}", entered.text("pass"));
    let thief = Uuid::new_v4().to_string();
    for (visitor, is_allowed) in [(&guest.id, true), (&thief, false)] {
        let event = request_event(&[("Authorization", &bearer), ("X-Visitor-Id", visitor)]);
        let answer = ask(&authorizer(&api), event).await;
        assert_eq!(answer.allowed, is_allowed, "{answer:?}");
        if !is_allowed {
            answer.expect_denied("token-owner-mismatch");
        }
    }
}
