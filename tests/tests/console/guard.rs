//! Which requests the console refuses: those without its key, and those that a page of another site can send.

use reqwest::{Client, Method};
use serde_json::{Value, json};
use vestibule_tests::{
    stack_console::{ConsoleAddress, StackConsole, await_overview},
    template::read_text,
};

use crate::{
    fake_aws::{FakeAws, Fault},
    start_runner,
};

/// Sends the requests of a foreign site that knows the key to a console.
async fn refuses_foreign_sites(address: &ConsoleAddress) {
    let http = Client::new();
    let send = async |method: Method, path: &str, host: &str, kind: &str| {
        let request = http.request(method, address.url(path)).header("Host", host);
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
        .request(Method::OPTIONS, address.url("admin"))
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

/// Asks every route of a console without the key, with another one, and with the key of another port.
async fn demands_its_key(address: &ConsoleAddress) {
    let http = Client::new();
    let port = address.page.rsplit(':').next().expect("a port");
    let port = port.trim_end_matches("/operate/");
    let index = read_text("web/operate/dist/index.html");
    let (_, asset) = index.split_once("assets/").expect("a file");
    let asset = format!("assets/{}", asset.split('"').next().expect("a name"));
    let other_key = "0".repeat(address.key.len());
    for (method, path) in [
        (Method::GET, ""),
        (Method::GET, &*asset),
        (Method::GET, "overview"),
        (Method::GET, "queues/demo:1"),
        (Method::POST, "admin"),
    ] {
        let send = async |query: &str, cookie: String| {
            let request = http.request(method.clone(), format!("{}{path}{query}", address.page));
            let request = request.header("Cookie", cookie).json(&json!({ "op": "list" }));
            request.send().await.expect("answered")
        };
        let named = |port: &str, key: &str| format!("a=b; vestibule-console-{port}={key}");
        for (query, cookie) in [
            (String::new(), String::new()),
            (format!("?key={other_key}"), named(port, &other_key)),
            (format!("?key={}", &address.key[1..]), named("1", &address.key)),
            (format!("?other={}", address.key), named("", &address.key)),
        ] {
            let answer = send(&query, cookie.clone()).await;
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            assert_eq!(status, 403, "{method} {path}{query} {cookie}");
            assert!(!headers.contains_key("set-cookie"), "{method} {path}{query}");
            let body = answer.text().await.expect("a text");
            assert!(body.contains("each start has a new key"), "{body}");
            if !path.is_empty() {
                let problem: Value = serde_json::from_str(&body).expect("JSON");
                assert_eq!(problem["code"], "console-key", "{method} {path}");
            }
        }
        let by_cookie = send("", named(port, &address.key)).await;
        assert_ne!(by_cookie.status(), 403, "{method} {path}: {by_cookie:?}");
    }
    let page = http.get(address.url("")).send().await.expect("answered");
    assert_eq!(
        page.url().as_str(),
        address.url(""),
        "a redirect would cost the cookie"
    );
    assert_eq!(
        page.headers()["set-cookie"],
        format!(
            "vestibule-console-{port}={}; Path=/operate; HttpOnly; SameSite=Strict",
            address.key
        )
    );
    assert_eq!(page.headers()["cache-control"], "no-store");
}

#[tokio::test]
async fn console_of_the_runner_demands_its_key() {
    let (_dir, runner) = start_runner();
    demands_its_key(&runner.console).await;
    let (_other_dir, other) = start_runner();
    assert_ne!(runner.console.key, other.console.key, "each start has a new key");
    let admin = runner
        .http()
        .post(runner.url("/_admin"))
        .json(&json!({ "op": "list" }));
    assert_eq!(
        admin.send().await.expect("answered").status(),
        200,
        "it has no key"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn console_of_a_stack_demands_its_key() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    demands_its_key(&console.address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_says_who_gives_an_order() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    await_overview(&console.address, |overview| {
        overview["queues"][0]["row"]["waiting"] == 3
    })
    .await;
    let order = json!({ "op": "pause", "queue": "TIMEDEAL:123", "caller": "the owner" });
    let sent = Client::new()
        .post(console.address.url("admin"))
        .json(&order)
        .send()
        .await;
    assert_eq!(sent.expect("answered").status(), 200);
    let caller = aws.commands("pause")[0]["caller"].clone();
    assert!(
        caller.as_str().expect("a name").ends_with(" (console)"),
        "{caller}"
    );
}

#[tokio::test]
async fn console_of_the_runner_refuses_foreign_sites() {
    let (_dir, runner) = start_runner();
    refuses_foreign_sites(&runner.console).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn console_of_a_stack_refuses_foreign_sites() {
    let aws = FakeAws::start(Fault::None).await;
    let console = StackConsole::start("shop", &aws.variables()).expect("the console starts");
    refuses_foreign_sites(&console.address).await;
}
