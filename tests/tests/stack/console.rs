//! The console of the deployed stack, which finds and calls its admin function.

use reqwest::Client;
use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{servers::server_url, stack::Stack, stack_console::StackConsole};

#[tokio::test]
async fn console_shows_a_queue_and_gives_an_order() {
    let stack = Stack::from_environment();
    let queue = format!("console-{}", Uuid::new_v4());
    let variables = [
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ];
    let values = variables.map(|name| (name, server_url(name)));
    let variables = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let console = StackConsole::start(&stack.name, &variables).expect("the console starts");
    let http = Client::new();
    let send = async |command: Value| {
        let request = http.post(console.address.url("admin")).json(&command);
        let answer: Value = request
            .send()
            .await
            .expect("answered")
            .json()
            .await
            .expect("JSON");
        assert_eq!(answer["ok"], true, "{command}: {answer}");
    };
    send(json!({ "op": "create", "queue": queue, "settings": { "capacity": 3 } })).await;
    send(json!({ "op": "pause", "queue": queue })).await;
    let overview = console
        .await_overview(|overview| {
            let mut queues = overview["queues"].as_array().expect("queues").iter();
            queues.any(|listed| listed["queue"] == *queue && listed["row"]["paused"] == true)
        })
        .await;
    assert_eq!(overview["deployment"]["name"], *stack.name);
    assert_eq!(overview["deployment"]["page_url"], stack.output("WaitingRoomUrl"));
    let detail = http.get(console.address.url(&format!("queues/{queue}")));
    let detail: Value = detail.send().await.expect("answered").json().await.expect("JSON");
    assert_eq!(
        (&detail["settings"]["capacity"], &detail["stats"]["paused"]),
        (&json!(3), &json!(true))
    );
    let callers: Vec<_> = detail["orders"]
        .as_array()
        .expect("orders")
        .iter()
        .map(|order| &order["caller"])
        .collect();
    let is_of_console = |caller: &&Value| {
        caller
            .as_str()
            .is_some_and(|caller| caller.ends_with("(console)"))
    };
    assert!(
        callers.len() == 2 && callers.iter().all(is_of_console),
        "{detail}"
    );
}
