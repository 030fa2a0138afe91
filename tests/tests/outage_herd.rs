//! While all requests are refused with 503 for a minute, a crowd that keeps to `Retry-After` sends hardly more requests
//! than before, and all visitors are back within one `retry_after_ms`. The time of the test is virtual.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use axum::http::{StatusCode, header};
use serde_json::json;
use tokio::{
    task::{JoinSet, LocalSet},
    time::{Instant, pause, sleep, sleep_until},
};
use vestibule_domain::state::EntryState;
use vestibule_faults::Fault;
use vestibule_line::Arrival;
use vestibule_tests::{
    follower::{Chance, Follower, FollowerOptions, Refusal, RequestKind},
    in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE, anonymous_visitor, entry_path, queue_id},
};

/// A fifth of them are served before the outage.
const VISITORS: u64 = 1_300;
const CLAIM_SECONDS: u64 = 60;
/// The longest `retry_after_ms`: two thirds of the time to claim.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(CLAIM_SECONDS / 3 * 2);
/// After a missed turn. It is the default of the setting.
const GRACE: Duration = Duration::from_mins(10);
/// The time until the outage. The crowd has settled after the first half.
const OUTAGE_START: Duration = Duration::from_mins(2);
const OUTAGE: Duration = Duration::from_mins(1);

/// The requests of a crowd, by their time.
#[derive(Debug, Default)]
struct Requests {
    before: u64,
    during: u64,
    /// When each visitor who was refused asked for the first answer again.
    returns: Vec<Duration>,
    lost: u64,
}

struct Scene {
    api: InProcessApi,
    requests: RefCell<Requests>,
    /// Whether the visitors follow the public document.
    reads_documents: bool,
    start: Instant,
}

#[tokio::test]
async fn refused_visitors_who_poll_return_without_a_herd() {
    run(false).await;
}

#[tokio::test]
async fn refused_readers_of_the_document_return_without_a_herd() {
    run(true).await;
}

async fn run(reads_documents: bool) {
    let api = InProcessApi::start(json!({
        "capacity": 10_000, "batch": 10, "interval_seconds": 6, "claim_seconds": CLAIM_SECONDS, "session_seconds": 3_600,
    }))
    .await;
    // Paused time does not wait for the thread of a real backup.
    api.backup_faults.discard_changes();
    pause();
    api.clock.start_running();
    let scene = Rc::new(Scene {
        api,
        requests: RefCell::default(),
        reads_documents,
        start: Instant::now(),
    });
    let tasks = async {
        let mut tasks = JoinSet::new();
        tasks.spawn_local(scene.clone().promote_and_fail());
        for number in 1..=VISITORS {
            tasks.spawn_local(scene.clone().visit(number));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("no task fails");
        }
    };
    LocalSet::new().run_until(tasks).await;
    let requests = scene.requests.take();
    let last_return = requests.returns.iter().max().copied().unwrap_or_default();
    println!(
        "{} requests before, {} during, {} visitors refused, the last one back after {last_return:?}",
        requests.before,
        requests.during,
        requests.returns.len()
    );
    assert!(
        requests.during * 2 <= requests.before * 3,
        "{} requests instead of {}",
        requests.during,
        requests.before
    );
    let refused = requests.returns.len() as u64;
    assert!(refused >= 1_000, "only {refused} visitors were refused");
    assert!(
        last_return <= RETRY_AFTER_MAX,
        "the last visitor was back after {last_return:?}"
    );
    assert_eq!(requests.lost, 0, "visitors lost their turns");
}

impl Scene {
    /// Ticks each second, and refuses all requests during the outage.
    async fn promote_and_fail(self: Rc<Self>) {
        let end = self.start + OUTAGE_START + OUTAGE + RETRY_AFTER_MAX;
        while Instant::now() < end {
            let is_out = self.is_out(Instant::now());
            if is_out {
                self.api.faults.fail_all(Fault::Unavailable);
                self.api.backup_faults.fail_all(Fault::Unavailable);
            } else {
                self.api.faults.heal_all();
                self.api.backup_faults.heal_all();
                self.api.promote().await;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    fn is_out(&self, at: Instant) -> bool {
        (OUTAGE_START..OUTAGE_START + OUTAGE).contains(&(at - self.start))
    }

    /// Follows the place of a visitor until the turn, or until some time after the outage.
    async fn visit(self: Rc<Self>, number: u64) {
        let (visitor, id) = anonymous_visitor(number);
        // The line hands out the places, because the requests to enter are not what the test counts.
        self.api
            .line
            .enter(&queue_id(), id, Arrival::Ordinary)
            .await
            .expect("entered");
        sleep(Duration::from_secs(2).mul_f64(rand::random())).await;
        let mut follower = Follower::new(
            FollowerOptions {
                reads_documents: self.reads_documents,
                ..FollowerOptions::default()
            },
            Chance::of_seed(number),
            0.0,
        );
        let mut is_refused = false;
        let path = entry_path(&id.to_string());
        loop {
            let next = follower.next_request();
            let at = self.start + Duration::from_secs_f64(next.at_ms.max(0.0) / 1_000.0);
            sleep_until(at).await;
            if self.start.elapsed() > OUTAGE_START + OUTAGE + 2 * RETRY_AFTER_MAX {
                return;
            }
            let asked_after = self.start.elapsed();
            let response = self.send(next.kind, &path, &visitor).await;
            let now_ms = self.start.elapsed().as_secs_f64() * 1_000.0;
            match response.status {
                StatusCode::OK if next.kind == RequestKind::Document => {
                    let document = serde_json::from_value(response.body).expect("a document");
                    follower.receive_document(&Arc::new(document), now_ms);
                }
                StatusCode::OK => {
                    let entry = serde_json::from_value(response.body).expect("an entry");
                    follower.receive_entry(next.kind, entry, now_ms);
                }
                StatusCode::SERVICE_UNAVAILABLE => {
                    is_refused = true;
                    follower.receive_refusal(next.kind, &read_refusal(&response), now_ms);
                    continue;
                }
                _ => {
                    self.requests.borrow_mut().lost += u64::from(!self.ran_out_in_outage(&response));
                    return;
                }
            }
            if std::mem::take(&mut is_refused) {
                // The line counts a visitor as present from the beginning of a held poll.
                let back_after = asked_after.saturating_sub(OUTAGE_START + OUTAGE);
                self.requests.borrow_mut().returns.push(back_after);
            }
            if follower
                .entry()
                .is_some_and(|entry| entry.state != EntryState::Waiting)
            {
                self.api.line.claim(&queue_id(), id).await.expect("claimed");
                return;
            }
        }
    }

    /// Whether a turn could not be claimed: it came before the outage and ran out during it.
    fn ran_out_in_outage(&self, response: &ApiResponse) -> bool {
        let grace_ms = response.body["grace_in_ms"].as_u64().unwrap_or(0);
        let ran_out_ago = GRACE.saturating_sub(Duration::from_millis(grace_ms));
        self.is_out(Instant::now() - ran_out_ago)
    }

    async fn send(&self, kind: RequestKind, path: &str, visitor: &str) -> ApiResponse {
        let elapsed = self.start.elapsed();
        let request = match kind {
            RequestKind::Document => ApiRequest::get(format!("/queues/{QUEUE}")),
            RequestKind::Status { hold_seconds } if hold_seconds > 0 => {
                ApiRequest::get(format!("{path}?wait={hold_seconds}")).visitor(visitor)
            }
            // The entry exists already, so that a follower who is about to enter asks for its status.
            _ => ApiRequest::get(path.to_owned()).visitor(visitor),
        };
        {
            let mut requests = self.requests.borrow_mut();
            let is_before = elapsed < OUTAGE_START && elapsed + OUTAGE >= OUTAGE_START;
            requests.before += u64::from(is_before);
            requests.during += u64::from(self.is_out(self.start + elapsed));
        }
        self.api.send(request).await
    }
}

fn read_refusal(response: &ApiResponse) -> Refusal {
    let seconds = response.header(header::RETRY_AFTER.as_str());
    let retry_after_ms = seconds.parse::<f64>().expect("whole seconds") * 1_000.0;
    let body = response.body.to_string();
    Refusal::from_answer(response.status.as_u16(), retry_after_ms, body.as_bytes())
}
