//! The requests that the runner answers, and those that it refuses.

use reqwest::Method;
use serde_json::{Value, json};
use vestibule_tests::runner::Runner;

use crate::{start_runner, temporary_folder};

#[tokio::test]
async fn commands_are_accepted_from_this_machine_only() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    let send = async |host: &str, kind: &str| {
        let command = runner
            .http()
            .post(runner.url("/_admin"))
            .header("Host", host)
            .header("Content-Type", kind);
        let answer = command.body("{\"op\": \"list\"}").send().await.expect("answered");
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.expect("JSON"),
        )
    };
    for host in ["localhost", "localhost:1", "127.0.0.1:8080", "[::1]:8080"] {
        let (status, answer) = send(host, "application/json; charset=utf-8").await;
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{host}");
    }
    let refused = runner
        .http()
        .post(runner.url("/_admin"))
        .json(&json!({ "op": "stats", "queue": "none" }));
    let refused = refused.send().await.expect("answered");
    assert_eq!(
        refused.status(),
        404,
        "a script learns of a refusal by the status"
    );
    let answer: Value = refused.json().await.expect("JSON");
    assert_eq!(
        (&answer["ok"], &answer["problem"]["code"]),
        (&json!(false), &json!("unknown-queue"))
    );
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let (status, answer) = send("localhost", kind).await;
        assert_eq!(
            (status, &answer["code"]),
            (415, &json!("unsupported-media-type")),
            "{kind}"
        );
    }
}

/// The page of another site can let its own name lead to this machine (DNS rebinding).
#[tokio::test]
async fn no_route_answers_a_request_for_another_host() {
    let dir = temporary_folder();
    let arguments = [
        "--demo-visitors",
        "0",
        "--hosts",
        "host.docker.internal,shop.test",
    ];
    let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
    let foreign = [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8080",
    ];
    for (method, path) in [
        (Method::GET, "/"),
        (Method::GET, "/theme.json"),
        (Method::GET, "/openapi.json"),
        (Method::GET, "/_health"),
        (Method::GET, "/_nothing"),
        (Method::POST, "/_admin"),
        (Method::GET, "/.well-known/jwks.json"),
        (Method::GET, "/queues/demo:1"),
        (Method::OPTIONS, "/queues/demo:1/entries"),
        (Method::POST, "/queues/demo:1/entries"),
    ] {
        let send = async |host: &str| {
            let request = runner.http().request(method.clone(), runner.url(path));
            let request = request
                .header("Host", host)
                .header("Content-Type", "application/json");
            request.body("{}").send().await.expect("answered")
        };
        for host in foreign {
            let answer = send(host).await;
            assert_eq!(answer.status(), 403, "{method} {path} at {host}");
            assert!(answer.headers().contains_key("x-request-id"), "{method} {path}");
            let problem: Value = answer.json().await.expect("JSON");
            assert_eq!(problem["code"], "foreign-host", "{method} {path}");
        }
        for host in ["shop.localhost:8080", "shop.test", "host.docker.internal:8080"] {
            assert_ne!(send(host).await.status(), 403, "{method} {path} at {host}");
        }
    }
}

/// A front end under development runs at another origin.
#[tokio::test]
async fn pages_of_the_given_origin_may_call_the_api() {
    let dir = temporary_folder();
    let arguments = ["--demo-visitors", "0", "--cors", "http://localhost:5173"];
    let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
    let preflight = async |origin: &str| {
        let url = runner.url("/queues/demo:1/entries");
        let request = runner.http().request(Method::OPTIONS, url);
        let request = request.header("Origin", origin);
        let answer = request
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "content-type,x-visitor-id")
            .send();
        let answer = answer.await.expect("answered");
        let allowed = answer.headers().get("access-control-allow-origin").cloned();
        allowed.map(|origin| origin.to_str().expect("a text").to_owned())
    };
    let own = "http://localhost:5173";
    assert_eq!(preflight(own).await.as_deref(), Some(own));
    assert_eq!(preflight("http://localhost:5174").await, None);
}

#[tokio::test]
async fn every_answer_has_a_request_id_and_errors_are_problems() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    let http = runner.http();
    for path in ["/", "/theme.json", "/_health", "/queues/demo:1"] {
        let answer = http.get(runner.url(path)).send().await.expect("answered");
        assert_eq!(answer.status(), 200, "{path}");
        assert!(answer.headers().contains_key("x-request-id"), "{path}");
    }
    let command = |body: String| {
        http.post(runner.url("/_admin"))
            .header("Content-Type", "application/json")
            .body(body)
    };
    let large = format!("{{\"op\": \"{}\"}}", "x".repeat(64 * 1024));
    for (request, status, code) in [
        (command(large), 413, "body-too-large"),
        (command("{".to_owned()), 400, "invalid-field"),
        (http.get(runner.url("/_admin")), 405, "method-not-allowed"),
        (http.delete(runner.url("/_health")), 405, "method-not-allowed"),
        (http.put(runner.url("/")), 405, "method-not-allowed"),
        (http.get(runner.url("/_nothing")), 404, "unknown-route"),
    ] {
        let answer = request.send().await.expect("answered");
        assert_eq!(answer.status().as_u16(), status, "{code}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        let id = answer.headers()["x-request-id"]
            .to_str()
            .expect("text")
            .to_owned();
        assert_eq!(answer.headers().contains_key("allow"), status == 405, "{code}");
        let problem: Value = answer.json().await.expect("JSON");
        assert_eq!(
            (&problem["code"], &problem["request_id"]),
            (&json!(code), &json!(id))
        );
    }
}

#[tokio::test]
async fn health_reports_line_and_backup() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    let answer = runner
        .http()
        .get(runner.url("/_health"))
        .send()
        .await
        .expect("answered");
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.json::<Value>().await.expect("JSON"),
        json!({
            "line": "ok",
            "backup": "ok",
            "build": { "version": env!("CARGO_PKG_VERSION"), "commit": null },
        })
    );
}
