//! Which requests the console refuses: those that a page of another site can send.

use reqwest::{Client, Method};
use serde_json::{Value, json};
use vestibule_tests::stack_console::StackConsole;

use crate::{
    fake_aws::{FakeAws, Fault},
    start_runner,
};

/// Sends the requests of a foreign site to the console at this address, which ends with `/operate/`.
async fn refuses_foreign_sites(address: &str) {
    let http = Client::new();
    let send = async |method: Method, path: &str, host: &str, kind: &str| {
        let request = http
            .request(method, format!("{address}{path}"))
            .header("Host", host);
        let request = request.header("Content-Type", kind).body("{\"op\": \"list\"}");
        let answer = request.send().await.expect("answered");
        let kind = answer.headers().get("content-type").cloned();
        (
            answer.status().as_u16(),
            kind,
            answer.bytes().await.expect("a body"),
        )
    };
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8090",
    ] {
        for (method, path) in [
            (Method::GET, ""),
            (Method::GET, "overview"),
            (Method::GET, "queues/demo:1"),
            (Method::POST, "admin"),
        ] {
            let (status, kind, body) = send(method.clone(), path, host, "application/json").await;
            assert_eq!(status, 403, "{method} {path} at {host}");
            assert_eq!(
                kind.expect("a type"),
                "application/problem+json",
                "{method} {path}"
            );
            let problem: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(problem["code"], "foreign-host", "{method} {path}");
        }
    }
    // A form needs no preflight.
    for kind in [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data; boundary=x",
    ] {
        let (status, _, body) = send(Method::POST, "admin", "localhost", kind).await;
        let problem: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(
            (status, &problem["code"]),
            (415, &json!("unsupported-media-type")),
            "{kind}"
        );
    }
    // A preflight gets no permission.
    let preflight = http
        .request(Method::OPTIONS, format!("{address}admin"))
        .header("Origin", "https://evil.example")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type");
    let answer = preflight.send().await.expect("answered");
    assert!(
        !answer.headers().contains_key("access-control-allow-origin"),
        "{answer:?}"
    );
    let (status, _, body) = send(Method::POST, "admin", "localhost:1", "application/json").await;
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{answer}");
}

#[tokio::test]
async fn console_of_the_runner_refuses_foreign_sites() {
    let (_dir, runner) = start_runner();
    refuses_foreign_sites(&runner.url("/operate/")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn console_of_a_stack_refuses_foreign_sites() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    refuses_foreign_sites(&console.address).await;
}
