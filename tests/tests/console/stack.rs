//! The console of a stack: what it shows, and how it says that it cannot.

use reqwest::Client;
use serde_json::{Value, json};
use vestibule_tests::stack_console::StackConsole;

use crate::{
    QUEUE,
    fake_aws::{FakeAws, Fault},
};

// The server of the test answers while the test waits for the start of the console.
#[tokio::test(flavor = "multi_thread")]
async fn overview_and_orders_go_by_the_admin_function() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    let overview = console
        .await_overview(|overview| overview["health"]["tick_age_ms"] == 800)
        .await;
    assert_eq!(overview["queues"][0]["row"]["waiting"], 3);
    assert_eq!(
        overview["deployment"],
        json!({
            "kind": "stack", "name": "shop", "region": "eu-central-1", "page": true, "page_url": "https://queue.example",
            "right": "end",
        })
    );
    // The admin function does not say how long its line takes.
    assert_eq!(
        (&overview["health"]["line_ms"], &overview["health"]["problem"]),
        (&Value::Null, &Value::Null)
    );

    let http = Client::new();
    let page = http.get(console.address.url("")).send().await.expect("answered");
    let policy = page.headers()["content-security-policy"].to_str().expect("text");
    assert!(
        policy.contains("frame-src 'self' https://queue.example;"),
        "{policy}"
    );
    let detail = http
        .get(console.address.url(&format!("queues/{QUEUE}")))
        .send()
        .await
        .expect("answered");
    let detail: Value = detail.json().await.expect("JSON");
    assert_eq!(
        (&detail["stats"]["waiting"], &detail["settings"]),
        (&json!(3), &json!({ "capacity": 7 }))
    );
    assert_eq!(detail["stats"]["capacity"], Value::Null);

    let order = http
        .post(console.address.url("admin"))
        .json(&json!({ "op": "pause", "queue": QUEUE }));
    let answer: Value = order.send().await.expect("answered").json().await.expect("JSON");
    assert_eq!(answer, json!({ "ok": true, "result": { "paused": true } }));
    let orders = aws.commands("pause");
    assert_eq!(orders.len(), 1, "an order is sent once");
    assert!(
        orders[0]["caller"]
            .as_str()
            .expect("a caller")
            .ends_with("(console)"),
        "{orders:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_function_keeps_the_numbers_and_is_named() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    console
        .await_overview(|overview| overview["queues"][0]["row"]["waiting"] == 3)
        .await;
    aws.set_fault(Fault::FunctionFails);
    let overview = console
        .await_overview(|overview| overview["health"]["problem"].is_string())
        .await;
    let problem = overview["health"]["problem"].as_str().expect("a text");
    assert!(
        problem.contains("shop-AdminFunction-1") && problem.contains("Task timed out"),
        "{problem}"
    );
    assert_eq!(overview["queues"][0]["row"]["waiting"], 3);

    let http = Client::new();
    let order = http
        .post(console.address.url("admin"))
        .json(&json!({ "op": "pause", "queue": QUEUE }));
    let answer = order.send().await.expect("answered");
    assert_eq!(answer.status(), 502);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert_eq!(
        answer.json::<Value>().await.expect("JSON")["code"],
        "admin-unreachable"
    );
    assert_eq!(aws.commands("pause").len(), 1, "an order is not sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_cannot_start_says_what_to_do() {
    let aws = FakeAws::start(Fault::None).await;
    let start = |stack: &str, variables: &[(&str, &str)]| {
        StackConsole::start(stack, variables).expect_err("the console does not start")
    };
    let expect = |error: String, words: &[&str]| {
        for word in words {
            assert!(error.contains(word), "{word} in {error}");
        }
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    };
    expect(
        start("shpo", &aws.variables()),
        &["no stack shpo", "eu-central-1", "STACK"],
    );
    for (fault, words) in [
        (Fault::OtherStack, &["no output AdminFunction"][..]),
        (Fault::StackForbidden, &["cloudformation:DescribeStacks"]),
        (Fault::InvokeForbidden, &["lambda:InvokeFunction"]),
    ] {
        aws.set_fault(fault);
        expect(start("shop", &aws.variables()), words);
    }
    expect(
        start("shop", &[("AWS_REGION", "eu-central-1")]),
        &["no AWS credentials", "AWS_PROFILE"],
    );
    let keys = [("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x")];
    expect(start("shop", &keys), &["no AWS region", "AWS_REGION"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_goes_by_the_least_right_and_the_page_learns_the_most() {
    for (aliases, right, by) in [
        (
            &["look", "operate", "end", ""][..],
            "end",
            [("list", "look"), ("pause", "operate"), ("close", "end")],
        ),
        (
            &["operate"],
            "operate",
            [("list", "operate"), ("pause", "operate"), ("close", "operate")],
        ),
        (
            &["look"],
            "look",
            [("list", "look"), ("pause", "look"), ("close", "look")],
        ),
        // Who may invoke the function itself needs no alias.
        (&[""], "end", [("list", ""), ("pause", ""), ("close", "")]),
    ] {
        let aws = FakeAws::start(Fault::Only(aliases)).await;
        let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
        let overview = console
            .await_overview(|overview| !overview["sampled_at_ms"].is_null())
            .await;
        assert_eq!(overview["deployment"]["right"], right, "{aliases:?}");
        for (op, alias) in by {
            if op != "list" {
                let order = json!({ "op": op, "queue": QUEUE });
                let sent = Client::new()
                    .post(console.address.url("admin"))
                    .json(&order)
                    .send();
                sent.await.expect("answered");
            }
            assert_eq!(aws.alias_of(op), alias, "{op} of {aliases:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_closes_stops_the_console_in_order() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    assert_eq!(console.stop("HUP").await.code(), Some(0));
}
