//! A table of DynamoDB that throttles: the emulator behind a gate that lets so many writes a second through.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use tokio::{net::TcpListener, time::Instant};
use vestibule_backup::{Backup, BackupError};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{change::Event, state::EntryState};
use vestibule_engine::flush::{FlushError, flush_journal};
use vestibule_line::JournalLimits;
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, place},
    servers,
};

use crate::scene::Scene;

const WRITES_A_SECOND: f64 = 150.0;

struct Gate {
    client: reqwest::Client,
    /// How many writes may go now, as of when.
    tokens: Mutex<(f64, Instant)>,
    turned_away: AtomicUsize,
}

impl Gate {
    fn lets_through(&self) -> bool {
        let mut tokens = self.tokens.lock().expect("whole");
        let since = tokens.1.elapsed().as_secs_f64();
        *tokens = ((tokens.0 + since * WRITES_A_SECOND).min(20.0), Instant::now());
        let goes = tokens.0 >= 1.0;
        if goes {
            tokens.0 -= 1.0;
        }
        goes
    }
}

async fn pass_on(State(gate): State<Arc<Gate>>, headers: HeaderMap, body: Bytes) -> Response {
    let target = headers["x-amz-target"].to_str().expect("a text");
    let writes = ["PutItem", "UpdateItem"]
        .iter()
        .any(|name| target.ends_with(name));
    if writes && !gate.lets_through() {
        gate.turned_away.fetch_add(1, Ordering::SeqCst);
        let code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
        let body = format!("{{\"__type\":\"{code}\",\"message\":\"slow down\"}}");
        return (StatusCode::BAD_REQUEST, body).into_response();
    }
    let mut request = gate.client.post(servers::dynamodb_url()).body(body);
    for name in ["x-amz-target", "content-type", "authorization", "x-amz-date"] {
        request = request.header(name, &headers[name]);
    }
    let answer = request.send().await.expect("the emulator answers");
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = answer.bytes().await.expect("a body");
    (
        status,
        [(header::CONTENT_TYPE, headers["content-type"].clone())],
        body,
    )
        .into_response()
}

async fn behind_a_gate() -> (DynamoDbBackup, Arc<Gate>) {
    servers::dynamodb_backup().await;
    let gate = Arc::new(Gate {
        client: reqwest::Client::new(),
        tokens: Mutex::new((0.0, Instant::now())),
        turned_away: AtomicUsize::new(0),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let routes = Router::new().route("/", post(pass_on)).with_state(gate.clone());
    tokio::spawn(async { axum::serve(listener, routes).await });
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(format!("http://{address}")),
        tables: TableNames::default(),
    })
    .await;
    (backup, gate)
}

#[tokio::test]
async fn a_large_record_gets_into_a_table_that_throttles() {
    let (backup, gate) = behind_a_gate().await;
    let scene = Scene::new(JournalLimits::default()).await;
    let ids = scene.come(200).await;
    scene.promote().await;
    let end = Instant::now() + Duration::from_mins(2);
    let mut drains = 0;
    while scene.view().await.journal_len > 0 {
        assert!(Instant::now() < end, "it gets there in time");
        drains += 1;
        match flush_journal(&scene.line, &backup, &scene.shelf, 100, end).await {
            // Late answers are no surprise either.
            Ok(_) | Err(FlushError::Backup(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(scene.view().await.dead_letters, 0);
    let turned_away = gate.turned_away.load(Ordering::SeqCst);
    // Each change is one update and one put here, and the client of the service tries each of them thrice.
    println!("{drains} drains, {turned_away} of some 400 writes were turned away");
    assert!(turned_away > 0, "it did throttle");
    assert!(turned_away < 3 * 400, "and was not besieged: {turned_away}");
    for id in ids {
        let record = backup.read_entry(&scene.shelf, id).await.expect("an answer");
        assert_eq!(record.expect("written").state, EntryState::Ready);
    }
}

#[tokio::test]
async fn throttling_is_told_from_being_away_and_from_refusing() {
    let (backup, gate) = behind_a_gate().await;
    let shelf = fresh_partition();
    backup.probe_writes(&shelf).await.expect("it does");
    let nobody = backup.read_live_entries(&shelf, 0).await.expect("an answer");
    assert!(nobody.is_empty(), "asking writes nothing");
    // Nothing for an hour.
    *gate.tokens.lock().expect("whole") = (-3_600.0 * WRITES_A_SECOND, Instant::now());
    let entered = change(fresh_id(), 1, Event::Entered { score: place(0) });
    let error = backup.put_change(&shelf, &entered).await.expect_err("throttled");
    assert!(matches!(error, BackupError::Throttled(_)), "{error}");
    let error = backup.probe_writes(&shelf).await.expect_err("throttled");
    assert!(matches!(error, BackupError::Throttled(_)), "{error}");
}
