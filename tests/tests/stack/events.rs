//! The events of a queue reach an SQS queue by a rule on the bus of the deployed stack.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{servers::server_url, stack::Stack};

use crate::caller::{Caller, wait_for};

const EVENTS: (&str, &str) = ("events", "AWSEvents");
const SQS: (&str, &str) = ("sqs", "AmazonSQS");

/// The messages that a rule delivers.
struct Deliveries {
    url: Value,
}

impl Deliveries {
    /// Has a rule on the bus send the events of one queue to a new SQS queue.
    async fn subscribe(stack: &Stack, queue: &str) -> Self {
        let bus = server_url("TEST_EVENT_BUS");
        let (name, rule) = (Uuid::new_v4().to_string(), format!("rule-{}", Uuid::new_v4()));
        let created = stack
            .call_service(SQS, "CreateQueue", json!({ "QueueName": name }))
            .await;
        let url = created["QueueUrl"].clone();
        let query = json!({ "QueueUrl": url, "AttributeNames": ["QueueArn"] });
        let attributes = stack.call_service(SQS, "GetQueueAttributes", query).await;
        let pattern = json!({ "source": ["vestibule"], "detail": { "queue": [queue] } });
        let rule_body = json!({ "Name": rule, "EventBusName": bus, "EventPattern": pattern.to_string() });
        stack.call_service(EVENTS, "PutRule", rule_body).await;
        let target = json!({ "Id": "sqs", "Arn": attributes["Attributes"]["QueueArn"] });
        let targets = json!({ "Rule": rule, "EventBusName": bus, "Targets": [target] });
        let put = stack.call_service(EVENTS, "PutTargets", targets).await;
        assert_eq!(put["FailedEntryCount"], 0, "{put}");
        Self { url }
    }

    /// Takes the next events, if there are some.
    async fn receive(&self, stack: &Stack) -> Vec<Value> {
        let query = json!({ "QueueUrl": self.url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 3_600 });
        let answer = stack.call_service(SQS, "ReceiveMessage", query).await;
        let messages = answer["Messages"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let body = |message: &Value| message["Body"].as_str().expect("a body").parse().expect("JSON");
        messages.iter().map(body).collect()
    }
}

#[tokio::test]
async fn changes_of_a_queue_reach_an_sqs_queue() {
    let stack = Stack::from_environment();
    let caller = Caller::for_stack(&stack);
    let queue = format!("events-{}", Uuid::new_v4());
    let deliveries = Deliveries::subscribe(&stack, &queue).await;
    let settings = json!({ "capacity": 1, "presence_seconds": 0, "session_seconds": 3_600 });
    let created = stack
        .run_command(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;
    // The promoter is not parked while a visitor is active.
    caller.enter(&queue).await;
    let finish = json!({ "op": "finish", "queue": queue, "confirm": queue, "epoch": created["epoch"] });
    let mut details = Vec::new();
    for (command, expected) in [
        (None, "Queue Opened"),
        (Some(json!({ "op": "pause", "queue": queue })), "Queue Paused"),
        (Some(json!({ "op": "resume", "queue": queue })), "Queue Resumed"),
        (Some(finish), "Queue Finished"),
    ] {
        if let Some(command) = command {
            stack.run_command(command).await;
        }
        let event = wait_for(expected, async || {
            let received = deliveries.receive(&stack).await;
            received
                .into_iter()
                .find(|event| event["detail-type"] == expected)
        })
        .await;
        assert_eq!(event["source"], "vestibule", "{event}");
        details.push(event["detail"].clone());
    }
    for (serial, detail) in (1..).zip(&details) {
        assert_eq!(detail["serial"], serial, "{detail}");
        assert_eq!(detail["queue"], queue, "{detail}");
        assert_eq!(detail["deployment"], stack.name, "{detail}");
    }
    let states: Vec<_> = details.iter().map(|detail| &detail["state"]).collect();
    assert_eq!(states, ["open", "paused", "open", "finished"]);
}
