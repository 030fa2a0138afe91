//! While all requests are refused with 503 for a minute, a crowd that keeps to `Retry-After` sends hardly more requests
//! than before, and all visitors are back within one `retry_after_ms`. The time of the test is virtual.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::http::StatusCode;
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, pause, sleep},
};
use vestibule_crowd::{act::Act, crowd::Crowd, door::Caller, rules::FollowerOptions, temper::Temper};
use vestibule_domain::state::EntryState;
use vestibule_faults::Fault;
use vestibule_line::Arrival;
use vestibule_tests::{
    api::{ApiDoor, Transport},
    in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE, anonymous_visitor, queue_id},
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
    requests: Mutex<Requests>,
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
    let scene = Arc::new(Scene {
        api,
        requests: Mutex::default(),
        reads_documents,
        start: Instant::now(),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(scene.clone().promote_and_fail());
    for number in 1..=VISITORS {
        tasks.spawn(scene.clone().visit(number));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no task fails");
    }
    let requests = scene.requests();
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
    async fn promote_and_fail(self: Arc<Self>) {
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
    async fn visit(self: Arc<Self>, number: u64) {
        let (visitor, id) = anonymous_visitor(number);
        // The line hands out the places, because the requests to enter are not what the test counts.
        self.api
            .line
            .enter(&queue_id(), id, Arrival::Ordinary)
            .await
            .expect("entered");
        sleep(Duration::from_secs(2).mul_f64(rand::random())).await;
        let crowd = Crowd::new(ApiDoor::new(self.clone(), QUEUE));
        let mut visitor = crowd.arrive(Caller::with_id(visitor), self.temper(), number);
        // As a page does that has been loaded again.
        let now_ms = crowd.clock.now_ms();
        visitor.follower.join(Some(id.to_string()), now_ms);
        let mut is_refused = false;
        while let Some(due) = visitor.next() {
            let asked_at = crowd.clock.moment(due.at_ms).max(Instant::now());
            if asked_at - self.start > OUTAGE_START + OUTAGE + 2 * RETRY_AFTER_MAX {
                return;
            }
            let failures = visitor.record.failures;
            crowd.step(&mut visitor).await;
            if visitor.record.failures > failures {
                is_refused = true;
            } else if std::mem::take(&mut is_refused) {
                // The line counts a visitor as present from the beginning of a held poll.
                let back_after = (asked_at - self.start).saturating_sub(OUTAGE_START + OUTAGE);
                self.requests().returns.push(back_after);
            }
            if matches!(visitor.state(), Some(EntryState::Ready | EntryState::Active)) {
                self.api.line.claim(&queue_id(), id).await.expect("claimed");
                return;
            }
        }
    }

    fn temper(&self) -> Temper {
        Temper {
            client: FollowerOptions {
                reads_documents: self.reads_documents,
                ..FollowerOptions::default()
            },
            ..Temper::honest(0.0)
        }
    }

    /// Whether a turn could not be claimed: it came before the outage and ran out during it.
    fn ran_out_in_outage(&self, response: &ApiResponse) -> bool {
        let grace_ms = response.body["grace_in_ms"].as_u64().unwrap_or(0);
        let ran_out_ago = GRACE.saturating_sub(Duration::from_millis(grace_ms));
        self.is_out(Instant::now() - ran_out_ago)
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().expect("no visitor panics")
    }
}

impl Transport for Scene {
    async fn exchange(&self, _: Act, request: ApiRequest) -> Option<ApiResponse> {
        let elapsed = self.start.elapsed();
        {
            let mut requests = self.requests();
            let is_before = elapsed < OUTAGE_START && elapsed + OUTAGE >= OUTAGE_START;
            requests.before += u64::from(is_before);
            requests.during += u64::from(self.is_out(self.start + elapsed));
        }
        let response = self.api.send(request).await;
        if ![StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&response.status) {
            self.requests().lost += u64::from(!self.ran_out_in_outage(&response));
        }
        Some(response)
    }
}
