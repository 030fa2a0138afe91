//! A DynamoDB table that throttles: a proxy in front of the emulator limits the writes per second.

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
use vestibule_domain::{change::Event, id::EntryId, state::EntryState};
use vestibule_engine::flush::{FlushError, flush_journal};
use vestibule_line::{ClaimOutcome, ExtendOutcome, JournalLimits, SessionExtension};
use vestibule_tests::{
    entries::{change, fresh_id, fresh_partition, place},
    lines::enter_without_backup,
    servers,
};

use crate::faulty_scene::FaultyScene;

const WRITES_PER_SECOND: f64 = 150.0;

/// A proxy that answers writes above the rate with the throttling error of DynamoDB.
struct ThrottlingProxy {
    client: reqwest::Client,
    /// The number of tokens, and when it was computed. Each write takes one token.
    tokens: Mutex<(f64, Instant)>,
    throttled_count: AtomicUsize,
    write_count: AtomicUsize,
}

impl ThrottlingProxy {
    fn take_token(&self) -> bool {
        let mut tokens = self.tokens.lock().expect("the mutex is not poisoned");
        let since = tokens.1.elapsed().as_secs_f64();
        *tokens = ((tokens.0 + since * WRITES_PER_SECOND).min(20.0), Instant::now());
        let has_token = tokens.0 >= 1.0;
        if has_token {
            tokens.0 -= 1.0;
        }
        has_token
    }
}

async fn forward_or_throttle(
    State(proxy): State<Arc<ThrottlingProxy>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let target = headers["x-amz-target"].to_str().expect("a text");
    let writes = ["PutItem", "UpdateItem"]
        .iter()
        .any(|name| target.ends_with(name));
    if writes && !proxy.take_token() {
        proxy.throttled_count.fetch_add(1, Ordering::SeqCst);
        let code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
        let body = format!("{{\"__type\":\"{code}\",\"message\":\"slow down\"}}");
        return (StatusCode::BAD_REQUEST, body).into_response();
    }
    if writes {
        proxy.write_count.fetch_add(1, Ordering::SeqCst);
    }
    let mut request = proxy.client.post(servers::dynamodb_url()).body(body);
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

async fn start_throttled_backup() -> (DynamoDbBackup, Arc<ThrottlingProxy>) {
    servers::dynamodb_backup().await;
    let proxy = Arc::new(ThrottlingProxy {
        client: reqwest::Client::new(),
        tokens: Mutex::new((0.0, Instant::now())),
        throttled_count: AtomicUsize::new(0),
        write_count: AtomicUsize::new(0),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let routes = Router::new()
        .route("/", post(forward_or_throttle))
        .with_state(proxy.clone());
    tokio::spawn(async { axum::serve(listener, routes).await });
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(format!("http://{address}")),
        tables: TableNames::default(),
    })
    .await;
    (backup, proxy)
}

#[tokio::test]
async fn large_journal_record_reaches_a_throttled_table() {
    let (backup, proxy) = start_throttled_backup().await;
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let ids = scene.enter_and_write(200).await;
    scene.promote().await;
    let end = Instant::now() + Duration::from_mins(2);
    let mut flushes = 0;
    while scene.view().await.journal_len > 0 {
        assert!(
            Instant::now() < end,
            "the record did not reach the backup in time"
        );
        flushes += 1;
        match flush_journal(&scene.line, &backup, &scene.partition, 100, end).await {
            // A flush may also time out here.
            Ok(_) | Err(FlushError::Backup(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(scene.view().await.dead_letters, 0);
    let throttled_count = proxy.throttled_count.load(Ordering::SeqCst);
    // Each change takes one update and one put here, and the AWS client tries each of them three times.
    println!("{flushes} flushes; the proxy throttled {throttled_count} times, with some 400 writes needed");
    assert!(throttled_count > 0, "the proxy throttled no write");
    assert!(
        throttled_count < 3 * 400,
        "the backup sent too many writes while throttled: {throttled_count}"
    );
    for id in ids {
        let record = backup.read_entry(&scene.partition, id).await.expect("an answer");
        assert_eq!(record.expect("written").state, EntryState::Ready);
    }
}

/// Journals a promotion, a claim and three extensions of one entry, with the place of its visit.
async fn journal_a_whole_turn(scene: &FaultyScene) -> EntryId {
    let line = &scene.line;
    let entered = enter_without_backup(line, &scene.queue, fresh_id()).await;
    let append = async |change| {
        line.append_to_journal(&scene.queue, &change)
            .await
            .expect("journaled");
    };
    append(entered).await;
    scene.promote().await;
    let id = entered.id;
    match line.claim(&scene.queue, id).await.expect("an answer") {
        ClaimOutcome::Active { change, .. } => append(change).await,
        other => panic!("{other:?}"),
    }
    for seconds in [400, 500, 600] {
        let extension = SessionExtension {
            visit: None,
            seconds,
            latest_end_ms: u64::MAX,
        };
        match line.extend(&scene.queue, id, extension).await.expect("an answer") {
            ExtendOutcome::Active { change, .. } => append(change).await,
            other => panic!("{other:?}"),
        }
    }
    id
}

#[tokio::test]
async fn flush_writes_an_entry_once_with_its_place_and_times() {
    let (backup, proxy) = start_throttled_backup().await;
    proxy.tokens.lock().expect("the mutex is not poisoned").0 = 1_000.0;
    let scene = FaultyScene::new(JournalLimits::default()).await;
    let id = journal_a_whole_turn(&scene).await;
    let until = Instant::now() + Duration::from_mins(1);
    let flushed = flush_journal(&scene.line, &backup, &scene.partition, 100, until).await;
    assert!(flushed.is_ok(), "{flushed:?}");
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(proxy.write_count.load(Ordering::SeqCst), 1);
    let record = backup.read_entry(&scene.partition, id).await.expect("an answer");
    let record = record.expect("written");
    let now_ms = scene.clock.now_ms();
    assert_eq!(record.state, EntryState::Active);
    assert!(record.score.is_some());
    assert_eq!(record.promoted_at_ms, Some(now_ms));
    assert_eq!(record.claimed_at_ms, Some(now_ms));
    assert_eq!(record.expires_at_ms, Some(now_ms + 600_000));
}

#[tokio::test]
async fn throttling_has_its_own_error() {
    let (backup, proxy) = start_throttled_backup().await;
    let partition = fresh_partition();
    backup
        .probe_writes(&partition)
        .await
        .expect("the table accepts writes");
    let entries = backup
        .read_live_entries(&partition, 0, u64::MAX)
        .await
        .expect("an answer");
    assert!(entries.is_empty(), "the probe wrote an entry");
    // The proxy has no token for an hour.
    *proxy.tokens.lock().expect("the mutex is not poisoned") = (-3_600.0 * WRITES_PER_SECOND, Instant::now());
    let entered = change(
        fresh_id(),
        1,
        Event::Entered {
            place: place(0),
            after: None,
        },
    );
    let error = backup
        .put_change(&partition, &entered)
        .await
        .expect_err("throttled");
    assert!(matches!(error, BackupError::Throttled(_)), "{error}");
    let error = backup.probe_writes(&partition).await.expect_err("throttled");
    assert!(matches!(error, BackupError::Throttled(_)), "{error}");
}
