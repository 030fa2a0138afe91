//! One visitor of the load, and what the visitor was told.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::Router;
use rand::RngExt;
use serde_json::json;
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_domain::id::QueueId;
use vestibule_tests::in_process::{ApiRequest, ApiResponse, send_to};

/// No call takes longer than 2 s. The rest is for a busy machine.
const CALL_TIME_MAX: Duration = Duration::from_secs(12);
/// The longest time until a process reaches the line again.
const BOUND: Duration = Duration::from_mins(1);
/// The time that a visitor stays active.
const SERVICE_TIME: Duration = Duration::from_millis(400);
/// A visitor who plans to leave does so at this poll.
const POLLS_BEFORE_LEAVING: usize = 2;

/// How a visitor plans to end the visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The visitor waits for the turn and is served.
    Served,
    /// The visitor leaves the line, unless the turn comes first.
    Leaves,
}

/// What a visitor was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observations {
    pub(crate) token: String,
    pub(crate) visit: u64,
    /// `None` if no answer contained it. A slow table leaves it out for active entries.
    pub(crate) joined_at_ms: Option<u64>,
    pub(crate) is_durable: bool,
    pub(crate) entered_at: Option<Instant>,
    /// The number of answers that showed the entry as active after it entered or claimed.
    pub(crate) times_active: usize,
    /// The number of times the entry was active and later in line again.
    pub(crate) times_sent_back: usize,
    pub(crate) degraded: usize,
    /// The number of answers with status 503.
    pub(crate) unavailable: usize,
    pub(crate) slowest: Duration,
    pub(crate) ended_at: Option<Instant>,
    pub(crate) left: bool,
    /// The last answer, for the reader of the log.
    pub(crate) last_answer: String,
}

/// A visitor, and what the visitor was told so far.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) id: String,
    pub(crate) plan: Plan,
    queue: QueueId,
    observations: Arc<Mutex<Observations>>,
}

impl Visitor {
    pub(crate) fn new(queue: &QueueId, plan: Plan) -> Self {
        Self {
            id: Uuid::new_v4().to_string(),
            plan,
            queue: queue.clone(),
            observations: Arc::default(),
        }
    }

    pub(crate) fn observed(&self) -> MutexGuard<'_, Observations> {
        self.observations.lock().expect("no task panicked")
    }

    fn path(&self, below: &str) -> String {
        format!("/queues/{}/entries/{}{below}", self.queue, self.observed().token)
    }

    /// Plays the visit from entering to the end. Each request goes to a random process.
    pub(crate) async fn run(&self, processes: &[Router]) {
        self.enter(processes).await;
        let mut polls = 0;
        loop {
            pause(750..1_500).await;
            match self.poll(processes).await.as_str() {
                "waiting" => {
                    polls += 1;
                    if self.plan == Plan::Leaves && polls >= POLLS_BEFORE_LEAVING {
                        let ask = || ApiRequest::delete(self.path("")).visitor(&self.id);
                        self.send_until_answered(processes, ask).await.expect_status(204);
                        self.observed().left = true;
                        break;
                    }
                }
                "ready" => self.claim(processes).await,
                "active" => {
                    if self.complete_if_active(processes).await {
                        break;
                    }
                }
                // The table was slow, so the place was not durable, and the line has lost it.
                "" if !self.observed().is_durable => break,
                other => panic!("{other}: {:?}", self.observed()),
            }
        }
        self.observed().ended_at = Some(Instant::now());
    }

    async fn enter(&self, processes: &[Router]) {
        let ask = || ApiRequest::post(format!("/queues/{}/entries", self.queue)).visitor(&self.id);
        let answer = self.send_until_answered(processes, ask).await;
        assert!([200, 201].contains(&answer.status.as_u16()), "{answer:?}");
        let mut observations = self.observed();
        answer.text("token").clone_into(&mut observations.token);
        observations.visit = answer.number("visit");
        observations.joined_at_ms = answer.body["joined_at_ms"].as_u64();
        observations.is_durable = answer.body["durable"] == true;
        observations.times_active += usize::from(answer.text("state") == "active");
        observations.entered_at = Some(Instant::now());
    }

    /// The state of the visit. Empty if the entry is not found and was not durable.
    pub(crate) async fn poll(&self, processes: &[Router]) -> String {
        let ask = || ApiRequest::get(self.path("")).visitor(&self.id);
        let answer = self.send_until_answered(processes, ask).await;
        let mut observations = self.observed();
        if answer.status == 404 && !observations.is_durable {
            return String::new();
        }
        assert_eq!(
            answer.status, 200,
            "a durable place was lost: {answer:?} for {observations:?}"
        );
        // For an entry that left the line, this time comes from the table. A slow table leaves it out.
        let joined_at_ms = answer.body["joined_at_ms"].as_u64().or(observations.joined_at_ms);
        assert_eq!(
            joined_at_ms,
            observations.joined_at_ms.or(joined_at_ms),
            "{answer:?}"
        );
        assert_eq!(answer.number("visit"), observations.visit, "{answer:?}");
        observations.degraded += usize::from(answer.body["degraded"] == true);
        let state = answer.text("state").to_owned();
        observations.times_sent_back +=
            usize::from(observations.times_active > observations.times_sent_back && state != "active");
        state
    }

    async fn claim(&self, processes: &[Router]) {
        let ask = || ApiRequest::post(self.path("/claim")).visitor(&self.id);
        let answer = self.send_until_answered(processes, ask).await;
        // The new primary may lack the promotion. It promotes the entry again.
        if answer.status != 409 {
            assert_eq!(answer.expect_status(200).text("state"), "active");
            self.observed().times_active += 1;
        }
    }

    /// The protected service serves a visitor whose entry is still active.
    async fn complete_if_active(&self, processes: &[Router]) -> bool {
        sleep(SERVICE_TIME).await;
        let visit = self.observed().visit;
        let question = json!({ "visitor": self.id });
        let validate = || ApiRequest::post(self.path("/validate")).json(&question);
        if self.send_until_answered(processes, validate).await.status == 409 {
            return false;
        }
        let complete = || ApiRequest::post(self.path("/complete")).json(&json!({ "visit": visit }));
        self.send_until_answered(processes, complete)
            .await
            .expect_status(204);
        true
    }

    /// The answer to a status request after the visit.
    pub(crate) async fn status_after_end(&self, processes: &[Router]) -> ApiResponse {
        let ask = || ApiRequest::get(self.path("")).visitor(&self.id);
        self.send_until_answered(processes, ask).await
    }

    /// Sends a request until a process that reaches the line answers. No process may hang, and each 503 must
    /// tell when to retry.
    async fn send_until_answered(&self, processes: &[Router], ask: impl Fn() -> ApiRequest) -> ApiResponse {
        let end = Instant::now() + BOUND;
        loop {
            assert!(
                Instant::now() < end,
                "no process reached the line for {BOUND:?}: {:?}",
                self.observed()
            );
            let process = &processes[rand::rng().random_range(0..processes.len())];
            let begun = Instant::now();
            let answer = send_to(process, ask()).await;
            let took = begun.elapsed();
            assert!(took < CALL_TIME_MAX, "{took:?} for {answer:?}");
            {
                let mut observations = self.observed();
                observations.slowest = observations.slowest.max(took);
                observations.last_answer = format!("{} {}", answer.status, answer.body);
                if answer.status != 503 {
                    return answer;
                }
                observations.unavailable += 1;
            }
            answer.header("retry-after");
            pause(50..200).await;
        }
    }
}

async fn pause(ms: Range<u64>) {
    let ms = rand::rng().random_range(ms);
    sleep(Duration::from_millis(ms)).await;
}
