//! The one-process runner from outside: what survives a restart, what stops a start, and who may ask.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use uuid::Uuid;
use vestibule::backup::{Backup, file::FileBackup};
use vestibule_tests::runner::{Ended, Runner, taken_port};

const QUEUE: &str = "q";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn start(dir: &TempDir) -> Runner {
    Runner::start(dir.path(), &["--crowd", "0"]).expect("it starts")
}

/// A queue where one is let in and the others stay where they are; answers the visitors and their entries.
async fn line_up(runner: &Runner, visitors: usize) -> Vec<(String, Value)> {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600, "session_seconds": 3600 });
    runner
        .order(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let mut line = Vec::new();
    for _ in 0..visitors {
        let visitor = Uuid::new_v4().to_string();
        let entry = runner.enter(QUEUE, &visitor).await;
        assert_eq!(entry["durable"], json!(true));
        line.push((visitor, entry));
    }
    line
}

/// Everybody stands where they stood, also those who enter once more.
async fn same_places(runner: &Runner, line: &[(String, Value)]) {
    for (visitor, before) in line {
        let token = before["token"].as_str().expect("a token");
        let status = runner.status(QUEUE, token, 0).await.expect("answered");
        let entered = runner.enter(QUEUE, visitor).await;
        for part in [
            "token",
            "state",
            "visit",
            "position",
            "joined_at_ms",
            "expires_at_ms",
        ] {
            assert_eq!(
                status[part], before[part],
                "{part} of {status}, which was {before}"
            );
            assert_eq!(
                entered[part], before[part],
                "{part} of {entered}, which was {before}"
            );
        }
    }
}

#[tokio::test]
async fn stopping_and_starting_keeps_every_place() {
    let dir = folder();
    let mut runner = start(&dir);
    let line = line_up(&runner, 25).await;
    assert_eq!(line[0].1["state"], json!("active"));
    assert_eq!(line[24].1["position"], json!(24));
    same_places(&runner, &line).await;

    for _ in 0..2 {
        runner.signal("TERM");
        let status = runner.ended(Duration::from_secs(10)).await;
        assert_eq!(status.code(), Some(0));
        runner = start(&dir);
        same_places(&runner, &line).await;
    }
}

#[tokio::test]
async fn killing_keeps_every_place() {
    let dir = folder();
    let mut runner = start(&dir);
    let line = line_up(&runner, 25).await;
    runner.signal("KILL");
    runner.ended(Duration::from_secs(10)).await;
    let runner = start(&dir);
    same_places(&runner, &line).await;
}

#[tokio::test]
async fn what_an_operator_changed_survives_a_restart() {
    let dir = folder();
    let mut runner = start(&dir);
    let message = json!({ "message": "mine", "trust_client_visitor_id": true });
    runner
        .order(json!({ "op": "update", "queue": "demo:1", "settings": message }))
        .await;
    runner.signal("INT");
    assert_eq!(runner.ended(Duration::from_secs(10)).await.code(), Some(0));
    let runner = start(&dir);
    let described = runner.order(json!({ "op": "describe", "queue": "demo:1" })).await;
    assert_eq!(described["settings"]["message"], json!("mine"));
    assert_eq!(described["settings"]["capacity"], json!(3));
}

#[tokio::test]
async fn a_wrong_stored_setting_keeps_its_queue_out_and_no_other() {
    let dir = folder();
    let mut runner = start(&dir);
    let line = line_up(&runner, 3).await;
    runner.signal("TERM");
    runner.ended(Duration::from_secs(10)).await;
    let right = {
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("the store");
        let queue = QUEUE.parse().expect("an id");
        let right = backup
            .queue(&queue)
            .await
            .expect("read")
            .expect("is there")
            .settings;
        let mut wrong = right.map().expect("a map").clone();
        wrong.insert("capacity".to_owned(), json!("many"));
        let replaced = backup.replace_settings(&queue, &right, &wrong).await;
        assert!(replaced.expect("written").is_some());
        right
    };

    let runner = start(&dir);
    runner.enter("demo:1", &Uuid::new_v4().to_string()).await;
    let token = line[1].1["token"].as_str().expect("a token");
    let status = runner.status(QUEUE, token, 0).await.expect("answered");
    assert_eq!(
        status["code"],
        json!("recovering"),
        "nobody lost a place, nobody is let in"
    );
    let described = runner.order(json!({ "op": "describe", "queue": QUEUE })).await;
    let problem = described["stored_settings_problem"].as_str().expect("named");
    assert!(problem.starts_with("capacity: "), "{problem}");

    let corrected = json!({ "capacity": right.to_value()["capacity"] });
    runner
        .order(json!({ "op": "update", "queue": QUEUE, "settings": corrected }))
        .await;
    // The edge remembers for a moment that the queue was away.
    within(Duration::from_secs(10), async || {
        runner.status(QUEUE, token, 0).await.expect("answered")["state"].is_string()
    })
    .await;
    same_places(&runner, &line).await;
}

/// One clear line, and an end that a script notices.
fn one_line(started: Result<Runner, Ended>, named: &str) {
    let ended = started.expect_err("it must not start");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.starts_with("vestibule-local: ") && ended.stderr.contains(named),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_taken_port_is_named() {
    let dir = folder();
    let (port, _listener) = taken_port();
    one_line(Runner::start_on(dir.path(), port, &[]), &port.to_string());
}

#[test]
fn a_broken_store_is_named_and_left_as_it_is() {
    let dir = folder();
    let store = dir.path().join("backup.redb");
    let content = "no store at all".repeat(1_000);
    fs::write(&store, &content).expect("written");
    one_line(Runner::start(dir.path(), &[]), "backup.redb");
    assert_eq!(fs::read_to_string(&store).expect("still there"), content);
}

#[tokio::test]
async fn a_store_in_use_is_named() {
    let dir = folder();
    let _runner = start(&dir);
    one_line(Runner::start(dir.path(), &[]), "in use");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = folder();
    let file = dir.path().join("file");
    fs::write(&file, "").expect("written");
    one_line(Runner::start(&file.join("folder"), &[]), "folder");
}

#[test]
fn an_unreachable_redis_or_dynamodb_is_named() {
    let dir = folder();
    let (port, listener) = taken_port();
    drop(listener);
    one_line(
        Runner::start(dir.path(), &["--redis", &format!("redis://127.0.0.1:{port}")]),
        "Redis",
    );
    one_line(
        Runner::start(dir.path(), &["--dynamodb", &format!("http://127.0.0.1:{port}")]),
        "DynamoDB",
    );
}

#[test]
fn a_dynamodb_that_is_no_address_is_refused_before_anything_is_tried() {
    let dir = folder();
    let inner = dir.path().join("inner");
    one_line(Runner::start(&inner, &["--dynamodb", "nonsense"]), "--dynamodb");
    assert!(!inner.exists(), "nothing was made");
}

#[tokio::test]
async fn the_end_answers_held_polls() {
    let dir = folder();
    let mut runner = start(&dir);
    let settings = json!({ "capacity": 1, "batch": 10, "interval_seconds": 1, "session_seconds": 3600 });
    runner
        .order(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
    let entry = runner.enter(QUEUE, &Uuid::new_v4().to_string()).await;
    let token = entry["token"].as_str().expect("a token").to_owned();

    let url = runner.url(&format!("/queues/{QUEUE}/entries/{token}?wait=20"));
    let mut poll = tokio::spawn(runner.http().get(url).send());
    let held = timeout(Duration::from_secs(2), &mut poll).await;
    assert!(held.is_err(), "the poll must be held: {held:?}");
    runner.signal("INT");

    let answer = timeout(Duration::from_secs(3), poll)
        .await
        .expect("at once")
        .expect("no panic")
        .expect("answered");
    assert_eq!(answer.status(), 200);
    let entry: Value = answer.json().await.expect("JSON");
    assert_eq!(
        (&entry["state"], &entry["position"]),
        (&json!("waiting"), &json!(1))
    );
    assert_eq!(runner.ended(Duration::from_secs(5)).await.code(), Some(0));
}

#[tokio::test]
async fn a_second_ctrl_c_ends_at_once() {
    let dir = folder();
    let mut runner = start(&dir);
    let mut stuck = TcpStream::connect(runner.host()).expect("connected");
    let head = "POST /_admin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    stuck.write_all(head.as_bytes()).expect("sent");
    // One answer on another connection: the server has read what came before.
    runner.order(json!({ "op": "list" })).await;
    runner.signal("INT");
    // The listener is gone when the first one has arrived.
    within(Duration::from_secs(3), async || {
        TcpStream::connect(runner.host()).is_err()
    })
    .await;
    let asked = Instant::now();
    runner.signal("INT");
    assert_eq!(runner.ended(Duration::from_secs(3)).await.code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn orders_are_taken_from_this_machine_alone() {
    let dir = folder();
    let runner = start(&dir);
    let send = async |host: &str, kind: &str| {
        let order = runner
            .http()
            .post(runner.url("/_admin"))
            .header("Host", host)
            .header("Content-Type", kind);
        let answer = order.body("{\"op\": \"list\"}").send().await.expect("answered");
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.expect("JSON"),
        )
    };
    for host in ["localhost", "localhost:1", "127.0.0.1:8080", "[::1]:8080"] {
        let (status, answer) = send(host, "application/json; charset=utf-8").await;
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8080",
    ] {
        let (status, answer) = send(host, "application/json").await;
        assert_eq!((status, &answer["code"]), (403, &json!("foreign-host")), "{host}");
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let (status, answer) = send("localhost", kind).await;
        assert_eq!(
            (status, &answer["code"]),
            (415, &json!("unsupported-media-type")),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn whatever_is_served_has_a_request_id_and_is_refused_in_problems() {
    let dir = folder();
    let runner = start(&dir);
    let http = runner.http();
    for path in ["/", "/page.js", "/_health", "/queues/demo:1"] {
        let answer = http.get(runner.url(path)).send().await.expect("answered");
        assert_eq!(answer.status(), 200, "{path}");
        assert!(answer.headers().contains_key("x-request-id"), "{path}");
    }
    let order = |body: String| {
        http.post(runner.url("/_admin"))
            .header("Content-Type", "application/json")
            .body(body)
    };
    let large = format!("{{\"op\": \"{}\"}}", "x".repeat(64 * 1024));
    for (request, status, code) in [
        (order(large), 413, "body-too-large"),
        (order("{".to_owned()), 400, "invalid-field"),
        (http.get(runner.url("/_admin")), 405, "method-not-allowed"),
        (http.delete(runner.url("/_health")), 405, "method-not-allowed"),
        (http.post(runner.url("/")), 405, "method-not-allowed"),
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
async fn the_page_and_its_parts_are_served() {
    let dir = folder();
    let runner = start(&dir);
    let get = async |path: &str| {
        let answer = runner
            .http()
            .get(runner.url(path))
            .send()
            .await
            .expect("answered");
        assert_eq!(answer.status(), 200, "{path}");
        let header = |name| answer.headers()[name].to_str().expect("text").to_owned();
        let (kind, policy) = (header("content-type"), header("content-security-policy"));
        assert!(!policy.contains("unsafe"), "{policy}");
        (kind, answer.text().await.expect("text"))
    };
    let (kind, page) = get("/").await;
    assert!(kind.starts_with("text/html"), "{kind}");
    for (path, kind) in [
        ("page.js", "text/javascript"),
        ("vestibule.js", "text/javascript"),
        ("style.css", "text/css"),
    ] {
        let (found, text) = get(&format!("/{path}")).await;
        assert!(found.starts_with(kind) && !text.is_empty(), "{path}: {found}");
        assert!(!text.contains("innerHTML"), "{path} shows texts as texts");
    }
    assert!(page.contains("src=\"page.js\"") && page.contains("href=\"style.css\""));
    assert!(
        !page.contains("<style") && !page.contains(" onclick"),
        "nothing inline: the policy forbids it"
    );
}

#[tokio::test]
async fn health_says_that_both_parts_answer() {
    let dir = folder();
    let runner = start(&dir);
    let answer = runner
        .http()
        .get(runner.url("/_health"))
        .send()
        .await
        .expect("answered");
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.json::<Value>().await.expect("JSON"),
        json!({ "line": "ok", "backup": "ok" })
    );
}

#[tokio::test]
async fn keys_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let dir = folder();
    let _runner = start(&dir);
    for key in ["root.key", "pass.pem"] {
        let mode = fs::metadata(dir.path().join(key))
            .expect("is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
}

#[tokio::test]
async fn a_crowd_moves_through_and_takes_its_places_back() {
    const CROWD: u64 = 8;
    let dir = folder();
    let arguments = ["--crowd", "8", "--quiet"];
    let stats = async |runner: &Runner| runner.order(json!({ "op": "stats", "queue": "demo:1" })).await;
    let count = |stats: &Value, name: &str| stats[name].as_u64().expect("a count");
    let sound = |stats: &Value| {
        assert!(count(stats, "ready") + count(stats, "active") <= 3, "{stats}");
        let standing = count(stats, "waiting") + count(stats, "ready") + count(stats, "active");
        assert!(standing <= CROWD, "one place each: {stats}");
        standing
    };
    let mut runner = Runner::start(dir.path(), &arguments).expect("it starts");
    within(Duration::from_mins(1), async || {
        let stats = stats(&runner).await;
        sound(&stats);
        count(&stats["totals"], "completed") >= 2
    })
    .await;
    runner.signal("KILL");
    runner.ended(Duration::from_secs(5)).await;

    let runner = Runner::start(dir.path(), &arguments).expect("it starts");
    within(Duration::from_mins(1), async || {
        let stats = stats(&runner).await;
        sound(&stats) > 0 && count(&stats["totals"], "completed") >= 1
    })
    .await;
}

#[test]
fn the_first_line_is_the_address() {
    let dir = folder();
    let runner = Runner::start(dir.path(), &["--crowd", "0", "--quiet"]).expect("it starts");
    let mut stream = TcpStream::connect(runner.host()).expect("it listens at the address that it said");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

async fn within(bound: Duration, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(bound, waiting).await.expect("it comes about in time");
}
