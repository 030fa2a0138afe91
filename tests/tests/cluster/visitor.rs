//! One visitor of the load, and what the visitor was told.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::Router;
use rand::RngExt;
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_crowd::{
    act::Act,
    crowd::{Crowd, PlannedVisit},
    door::Caller,
    record::{VisitEnd, VisitRecord},
    temper::{Conduct, Stay, StayEnd, Temper},
};
use vestibule_domain::id::QueueId;
use vestibule_tests::{
    api::{ApiDoor, Transport},
    in_process::{ApiRequest, ApiResponse, send_to},
};

/// No call takes longer than 2 s. The rest is for a busy machine.
const CALL_TIME_MAX: Duration = Duration::from_secs(12);
/// The longest time until a process reaches the line again.
const BOUND: Duration = Duration::from_mins(1);
/// The time that a visitor stays active, in milliseconds. The protected service validates the visitor in the middle of it.
const SERVICE_MS: f64 = 800.0;

/// How a visitor plans to end the visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The visitor waits for the turn and is served.
    Served,
    /// The same, and the visitor asks so often that a place is back before its turn comes, if the replica lacks it.
    Asks,
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
    /// Since when all answers are 503.
    unavailable_since: Option<Instant>,
    /// The slowest answer, without the time for which it may have been held.
    pub(crate) slowest: Duration,
    pub(crate) ended_at: Option<Instant>,
    /// All answers, for the reader of the log.
    answers: Vec<String>,
    /// What the visitor met. `None` while the visit goes on.
    pub(crate) record: Option<VisitRecord>,
}

/// A visitor, and what the visitor was told so far.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) plan: Plan,
    id: String,
    queue: QueueId,
    observations: Arc<Mutex<Observations>>,
}

/// Sends each request to a random process, and takes note of what the visitor is told.
struct ObservedTransport {
    processes: Vec<Router>,
    observations: Arc<Mutex<Observations>>,
}

impl Visitor {
    pub(crate) fn new(queue: &QueueId, plan: Plan) -> Self {
        Self {
            plan,
            id: Uuid::new_v4().to_string(),
            queue: queue.clone(),
            observations: Arc::default(),
        }
    }

    pub(crate) fn observed(&self) -> MutexGuard<'_, Observations> {
        self.observations.lock().expect("no task panicked")
    }

    /// Plays the visit from entering to the end.
    pub(crate) async fn run(&self, processes: &[Router]) {
        let transport = ObservedTransport {
            processes: processes.to_vec(),
            observations: self.observations.clone(),
        };
        let crowd = Crowd::new(ApiDoor::new(transport, self.queue.as_str()));
        let visit = PlannedVisit {
            arrives_after: Duration::ZERO,
            caller: Caller::with_id(self.id.clone()),
            temper: self.temper(),
            seed: rand::random(),
        };
        let record = crowd.run(visit).await.record;
        let mut observations = self.observed();
        match &record.end {
            Some(VisitEnd::LeftLine | VisitEnd::Completed) => {}
            // The table was slow, so the place was not durable, and the line has lost it.
            Some(VisitEnd::Lost(code)) if code == "unknown-entry" && !observations.is_durable => {}
            end => panic!("the visit ended as {end:?}: {observations:?}"),
        }
        observations.record = Some(record);
        observations.ended_at = Some(Instant::now());
    }

    fn temper(&self) -> Temper {
        Temper {
            conduct: match self.plan {
                Plan::Served => Conduct::Honest,
                Plan::Asks => Conduct::Paces { factor: 4.0 },
                Plan::Leaves => Conduct::Leaves {
                    after_ms: rand::rng().random_range(1_500.0..3_000.0),
                },
            },
            stay: Stay {
                length_ms: SERVICE_MS,
                checks: 1,
                end: StayEnd::Completes,
                extends: true,
            },
            ..Temper::honest(SERVICE_MS)
        }
    }

    /// The answer to a status request after the visit.
    pub(crate) async fn status_after_end(&self, processes: &[Router]) -> ApiResponse {
        let path = format!("/queues/{}/entries/{}", self.queue, self.observed().token);
        let end = Instant::now() + BOUND;
        loop {
            let request = ApiRequest::get(path.as_str()).visitor(&self.id);
            let answer = send_to(draw_process(processes), request).await;
            if answer.status != 503 {
                return answer;
            }
            answer.header("retry-after");
            assert!(
                Instant::now() < end,
                "no process reached the line for {BOUND:?}: {:?}",
                self.observed()
            );
            sleep(Duration::from_millis(100)).await;
        }
    }
}

fn draw_process(processes: &[Router]) -> &Router {
    &processes[rand::rng().random_range(0..processes.len())]
}

impl Transport for ObservedTransport {
    /// No process may hang, and each 503 must tell when to retry.
    async fn exchange(&self, act: Act, request: ApiRequest) -> Option<ApiResponse> {
        let hold = match act {
            Act::HeldPoll { seconds } => Duration::from_secs(seconds.into()),
            _ => Duration::ZERO,
        };
        let begun = Instant::now();
        let answer = send_to(draw_process(&self.processes), request).await;
        let took = begun.elapsed().saturating_sub(hold);
        assert!(took < CALL_TIME_MAX, "{took:?} for {answer:?}");
        let mut observations = self.observations.lock().expect("no task panicked");
        observations.slowest = observations.slowest.max(took);
        let (state, code) = (&answer.body["state"], &answer.body["code"]);
        let line = format!("{act:?} {took:.1?} {} {state} {code}", answer.status);
        observations.answers.push(line);
        if answer.status == 503 {
            answer.header("retry-after");
            observations.add_unavailable();
        } else {
            observations.unavailable_since = None;
            observations.add(act, &answer);
        }
        Some(answer)
    }
}

impl Observations {
    fn add_unavailable(&mut self) {
        self.unavailable += 1;
        let since = *self.unavailable_since.get_or_insert_with(Instant::now);
        assert!(
            since.elapsed() < BOUND,
            "no process reached the line for {BOUND:?}: {self:?}"
        );
    }

    /// Takes note of an answer of the line, and panics if it is not what the visitor was told before.
    fn add(&mut self, act: Act, answer: &ApiResponse) {
        match act {
            Act::Enter => self.add_place(answer),
            Act::Poll | Act::HeldPoll { .. } => self.add_status(answer),
            // The new primary may lack the promotion or the claim. It promotes the entry again, and the visitor claims again.
            Act::Claim | Act::Validate | Act::Complete if answer.status == 409 => {}
            Act::Claim => {
                assert_eq!(answer.expect_status(200).text("state"), "active");
                self.times_active += 1;
            }
            Act::Leave | Act::Complete => {
                answer.expect_status(204);
            }
            _ => {
                answer.expect_status(200);
            }
        }
    }

    fn add_place(&mut self, answer: &ApiResponse) {
        assert!([200, 201].contains(&answer.status.as_u16()), "{answer:?}");
        answer.text("token").clone_into(&mut self.token);
        self.visit = answer.number("visit");
        self.joined_at_ms = answer.body["joined_at_ms"].as_u64();
        self.is_durable = answer.body["durable"] == true;
        self.times_active += usize::from(answer.text("state") == "active");
        self.entered_at = Some(Instant::now());
    }

    fn add_status(&mut self, answer: &ApiResponse) {
        if answer.status == 404 && !self.is_durable {
            return;
        }
        assert_eq!(
            answer.status, 200,
            "a durable place was lost: {answer:?} for {self:?}"
        );
        // For an entry that left the line, this time comes from the table. A slow table leaves it out.
        let joined_at_ms = answer.body["joined_at_ms"].as_u64().or(self.joined_at_ms);
        assert_eq!(joined_at_ms, self.joined_at_ms.or(joined_at_ms), "{answer:?}");
        assert_eq!(answer.number("visit"), self.visit, "{answer:?}");
        self.degraded += usize::from(answer.body["degraded"] == true);
        self.times_sent_back +=
            usize::from(self.times_active > self.times_sent_back && answer.text("state") != "active");
    }
}
