//! Visitors go through the deployed stack: API Gateway, the functions, the schedule, the tables and the metrics.

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::types::AttributeValue;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;
use vestibule_tests::stack::Stack;

use crate::caller::{Caller, Visitor, wait_for};

async fn dynamodb() -> aws_sdk_dynamodb::Client {
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    aws_sdk_dynamodb::Client::new(&config)
}

/// Reads the tokens and the states of all entries of a queue from the entries table. The queue is in its first generation.
async fn read_states(stack: &Stack, queue: &str) -> Vec<(String, String)> {
    let found = dynamodb()
        .await
        .scan()
        .table_name(stack.output("EntriesTable"))
        .filter_expression("begins_with(#shard, :queue)")
        .expression_attribute_names("#shard", "shard")
        .expression_attribute_values(":queue", AttributeValue::S(format!("{queue}#1#")))
        .consistent_read(true)
        .send()
        .await
        .expect("the table");
    let text = |value: &AttributeValue| value.as_s().expect("a text").clone();
    found
        .items()
        .iter()
        .map(|item| (text(&item["entry"]), text(&item["status"])))
        .collect()
}

/// Changes one setting in the item as the editor of the console does.
async fn edit_setting(stack: &Stack, queue: &str, name: &str, value: AttributeValue) {
    dynamodb()
        .await
        .update_item()
        .table_name(stack.output("QueuesTable"))
        .key("queue", AttributeValue::S(queue.to_owned()))
        .key("part", AttributeValue::S("settings".to_owned()))
        .update_expression("SET settings.#name = :value")
        .expression_attribute_names("#name", name)
        .expression_attribute_values(":value", value)
        .send()
        .await
        .expect("the item is written");
}

#[tokio::test]
async fn visitors_pass_through_the_deployed_stack() {
    let stack = Stack::from_environment();
    let caller = Caller::for_stack(&stack);
    let queue = format!("stack-{}", Uuid::new_v4());
    stack
        .run_command(json!({ "op": "create", "queue": queue, "settings":
            { "capacity": 2, "batch": 2, "interval_seconds": 1, "claim_seconds": 120 } }))
        .await;

    // Two visitors are active at once, and three wait in the order of entering.
    let mut visitors = Vec::new();
    for _ in 0..5 {
        visitors.push(caller.enter(&queue).await);
    }
    let states: Vec<_> = visitors.iter().map(|visitor| visitor.state.as_str()).collect();
    assert_eq!(states, ["active", "active", "waiting", "waiting", "waiting"]);

    // Any reader sees the queue, by the function of the public document.
    wait_for("the public document shows the three who wait", async || {
        let request = caller.request(Method::GET, &format!("/queues/{queue}"), None);
        let (status, document) = caller.send(request.build().expect("a request")).await;
        assert_eq!(status, 200, "{document}");
        (document["waiting"] == 3).then_some(())
    })
    .await;

    // A visitor cannot act as the protected service.
    let complete = |visitor: &Visitor| format!("/queues/{queue}/entries/{}/complete", visitor.token);
    let (status, refused) = caller
        .call(
            Method::POST,
            &complete(&visitors[0]),
            &visitors[0].id,
            Some(json!({})),
        )
        .await;
    assert_eq!(status, 403, "{refused}");
    for visitor in &visitors[..2] {
        let (status, body) = caller.call_signed(&complete(visitor), json!({})).await;
        assert_eq!(status, 204, "{body}");
    }

    // The promoter promotes them, or their own requests do while the promoter is parked.
    for visitor in &visitors[2..4] {
        caller.poll_until(&queue, visitor, "ready").await;
    }
    let path = format!("/queues/{queue}/entries/{}", visitors[4].token);
    let (_, last) = caller.call(Method::GET, &path, &visitors[4].id, None).await;
    assert_eq!(
        (&last["state"], &last["position"]),
        (&json!("waiting"), &json!(1)),
        "{last}"
    );

    let claimant = &visitors[2];
    let path = format!("/queues/{queue}/entries/{}", claimant.token);
    let (status, claimed) = caller
        .call(
            Method::POST,
            &format!("{path}/claim"),
            &claimant.id,
            Some(json!({})),
        )
        .await;
    assert_eq!((status, &claimed["state"]), (200, &json!("active")), "{claimed}");
    let (status, valid) = caller
        .call_signed(&format!("{path}/validate"), json!({ "pass": claimed["pass"] }))
        .await;
    assert_eq!((status, &valid["valid"]), (200, &json!(true)), "{valid}");

    // An edit of the table raises the capacity, with a number as text as a form may send it. So the last visitor is
    // promoted.
    edit_setting(&stack, &queue, "capacity", AttributeValue::S("3".to_owned())).await;
    caller.poll_until(&queue, &visitors[4], "ready").await;
    // An invalid edit is refused, and `describe` shows the problem.
    edit_setting(&stack, &queue, "capacity", AttributeValue::S("many".to_owned())).await;
    wait_for("describe shows the refused setting", async || {
        let described = stack
            .run_command(json!({ "op": "describe", "queue": queue }))
            .await;
        let problem = described["stored_settings_problem"].as_str()?;
        (problem.contains("capacity") && described["settings"]["capacity"] == 3).then_some(())
    })
    .await;

    // The table has every entry once the journal is flushed.
    let expected = ["COMPLETED", "COMPLETED", "ACTIVE", "READY", "READY"];
    wait_for("the table has every entry in its state", async || {
        let found = read_states(&stack, &queue).await;
        let status_of = |visitor: &Visitor| {
            let own = found.iter().find(|(entry, _)| *entry == visitor.token);
            own.map(|(_, status)| status.as_str())
        };
        let all = visitors
            .iter()
            .zip(expected)
            .all(|(visitor, status)| status_of(visitor) == Some(status));
        (found.len() == 5 && all).then_some(())
    })
    .await;

    // The metrics count each event once. The promoter writes them to its log.
    let group = &format!("/vestibule/{}/promoter", stack.name);
    for (name, expected) in [("Entered", 5), ("Promoted", 3), ("Completed", 2)] {
        wait_for(&format!("{name} is {expected}"), async || {
            let values = stack.read_metric(group, &queue, name).await;
            let sum: u64 = values.iter().sum();
            assert!(sum <= expected, "{name}: {values:?}");
            (sum == expected).then_some(())
        })
        .await;
    }
    wait_for("the refused setting is counted", async || {
        let values = stack.read_metric(group, &queue, "SettingsRefused").await;
        values.contains(&1).then_some(())
    })
    .await;
}
