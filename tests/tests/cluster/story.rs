//! What one visitor of the load lives through, and what they were told.

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
use vestibule_tests::edge::{Answer, Ask, send_to};

/// No call takes longer than 2 s; the rest is for a machine that has other things to do.
const NO_HANG: Duration = Duration::from_secs(4);
/// Somebody reaches the line again long before.
const BOUND: Duration = Duration::from_mins(1);
/// So long a visitor stays inside.
const STAY: Duration = Duration::from_millis(400);
/// A visitor who means to leave does so at this poll.
const POLLS_BEFORE_LEAVING: usize = 2;

/// How a visitor means to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Waits for the turn, and is served.
    Served,
    /// Leaves the line, if the turn does not come first.
    Leaves,
}

/// What a visitor was told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) token: String,
    pub(crate) visit: u64,
    /// Where it was told: a slow table leaves it out for those inside.
    pub(crate) joined_at_ms: Option<u64>,
    pub(crate) is_durable: bool,
    pub(crate) entered_at: Option<Instant>,
    /// Told to be inside, so many times.
    pub(crate) let_in: usize,
    /// Told to be inside, and later to be in line.
    pub(crate) sent_back: usize,
    pub(crate) degraded: usize,
    /// How often the answer was 503.
    pub(crate) away: usize,
    pub(crate) slowest: Duration,
    pub(crate) ended_at: Option<Instant>,
    pub(crate) left: bool,
    /// The last answer, for whoever reads the log.
    pub(crate) last: String,
}

/// A visitor, and what they were told so far.
#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) id: String,
    pub(crate) plan: Plan,
    queue: QueueId,
    told: Arc<Mutex<Told>>,
}

impl Story {
    pub(crate) fn new(queue: &QueueId, plan: Plan) -> Self {
        Self {
            id: Uuid::new_v4().to_string(),
            plan,
            queue: queue.clone(),
            told: Arc::default(),
        }
    }

    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().expect("nobody panicked")
    }

    fn path(&self, below: &str) -> String {
        format!("/queues/{}/entries/{}{below}", self.queue, self.told().token)
    }

    /// From entering to the end, by one process or another each time.
    pub(crate) async fn run(&self, processes: &[Router]) {
        self.enters(processes).await;
        let mut polls = 0;
        loop {
            pause(750..1_500).await;
            match self.looks(processes).await.as_str() {
                "waiting" => {
                    polls += 1;
                    if self.plan == Plan::Leaves && polls >= POLLS_BEFORE_LEAVING {
                        let ask = || Ask::delete(self.path("")).visitor(&self.id);
                        self.sends(processes, ask).await.is(204);
                        self.told().left = true;
                        break;
                    }
                }
                "ready" => self.claims(processes).await,
                "active" => {
                    if self.is_served(processes).await {
                        break;
                    }
                }
                // Nothing was promised, since the table was slow: nobody knows of the place any more.
                "" if !self.told().is_durable => break,
                other => panic!("{other}: {:?}", self.told()),
            }
        }
        self.told().ended_at = Some(Instant::now());
    }

    async fn enters(&self, processes: &[Router]) {
        let ask = || Ask::post(format!("/queues/{}/entries", self.queue)).visitor(&self.id);
        let answer = self.sends(processes, ask).await;
        assert!([200, 201].contains(&answer.status.as_u16()), "{answer:?}");
        let mut told = self.told();
        answer.text("token").clone_into(&mut told.token);
        told.visit = answer.number("visit");
        told.joined_at_ms = answer.body["joined_at_ms"].as_u64();
        told.is_durable = answer.body["durable"] == true;
        told.let_in += usize::from(answer.text("state") == "active");
        told.entered_at = Some(Instant::now());
    }

    /// The state, of the same visit; empty where there is none, and none was promised.
    pub(crate) async fn looks(&self, processes: &[Router]) -> String {
        let ask = || Ask::get(self.path("")).visitor(&self.id);
        let answer = self.sends(processes, ask).await;
        let mut told = self.told();
        if answer.status == 404 && !told.is_durable {
            return String::new();
        }
        assert_eq!(answer.status, 200, "a place was lost: {answer:?} for {told:?}");
        // Of those whose turn it is, the table knows; where it is slow, it is left out.
        let joined_at_ms = answer.body["joined_at_ms"].as_u64().or(told.joined_at_ms);
        assert_eq!(joined_at_ms, told.joined_at_ms.or(joined_at_ms), "{answer:?}");
        assert_eq!(answer.number("visit"), told.visit, "{answer:?}");
        told.degraded += usize::from(answer.body["degraded"] == true);
        let state = answer.text("state").to_owned();
        told.sent_back += usize::from(told.let_in > told.sent_back && state != "active");
        state
    }

    async fn claims(&self, processes: &[Router]) {
        let ask = || Ask::post(self.path("/claim")).visitor(&self.id);
        let answer = self.sends(processes, ask).await;
        // The turn may have been one of which the new primary has not heard: it comes again.
        if answer.status != 409 {
            assert_eq!(answer.is(200).text("state"), "active");
            self.told().let_in += 1;
        }
    }

    /// The protected service serves a visitor, if they are let in still.
    async fn is_served(&self, processes: &[Router]) -> bool {
        sleep(STAY).await;
        let visit = self.told().visit;
        let question = json!({ "visitor": self.id });
        let valid = || Ask::post(self.path("/validate")).json(&question);
        if self.sends(processes, valid).await.status == 409 {
            return false;
        }
        let done = || Ask::post(self.path("/complete")).json(&json!({ "visit": visit }));
        self.sends(processes, done).await.is(204);
        true
    }

    /// What is answered when the story is over.
    pub(crate) async fn epilogue(&self, processes: &[Router]) -> Answer {
        let ask = || Ask::get(self.path("")).visitor(&self.id);
        self.sends(processes, ask).await
    }

    /// Sends it until it is answered by somebody who reaches the line; sees that nobody hangs, and that whoever is sent
    /// away is told for how long.
    async fn sends(&self, processes: &[Router], ask: impl Fn() -> Ask) -> Answer {
        let end = Instant::now() + BOUND;
        loop {
            assert!(
                Instant::now() < end,
                "for {BOUND:?} nobody reached the line: {:?}",
                self.told()
            );
            let process = &processes[rand::rng().random_range(0..processes.len())];
            let begun = Instant::now();
            let answer = send_to(process, ask()).await;
            let took = begun.elapsed();
            assert!(took < NO_HANG, "{took:?} for {answer:?}");
            {
                let mut told = self.told();
                told.slowest = told.slowest.max(took);
                told.last = format!("{} {}", answer.status, answer.body);
                if answer.status != 503 {
                    return answer;
                }
                told.away += 1;
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
