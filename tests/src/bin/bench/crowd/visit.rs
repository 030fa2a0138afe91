//! One client. It follows the rules of the shipped client until it has been served, or gives up before.

use std::{sync::Arc, time::Duration};

use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};
use vestibule_domain::state::EntryState;
use vestibule_tests::{
    entries::now_ms,
    follower::{FollowingVisitor, RequestCounts, Step},
};

use super::{
    CLAIM_SECONDS,
    estimate_accuracy::ShownEstimate,
    plan::{Conduct, VisitPlan},
    position_trail::{PositionSample, PositionTrail},
};

/// While a client follows the document, the position that its visitor sees is compared with the true one once in so long,
/// on average.
const SAMPLE_INTERVAL: Duration = Duration::from_mins(3);
/// The share of documents after which their positions are compared with the true ones.
const SAMPLE_SHARE: f64 = 0.05;
/// The most attempts of the protected service to complete a visit.
const COMPLETE_ATTEMPTS: u32 = 20;

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Served,
    /// The visitor left.
    Left,
    /// The visitor stopped polling without leaving.
    Vanished,
    /// The visitor followed the protocol and lost the turn.
    Lost,
}

/// The observations of a client.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) end: End,
    /// Whether the client followed the protocol throughout.
    pub(crate) is_follower: bool,
    pub(crate) counts: RequestCounts,
    pub(crate) positions: PositionTrail,
    pub(crate) place: Option<u64>,
    /// When the visitor was promoted, in Unix milliseconds. `None` if the visitor gave up or did not wait.
    pub(crate) promoted_at_ms: Option<u64>,
    /// When the visitor had the answer to the claim, in Unix milliseconds.
    pub(crate) claimed_at_ms: Option<u64>,
    /// Whether the visitor came back to the place after a sleep.
    pub(crate) has_come_back: bool,
    /// Answers and documents for a waiting visitor without an estimate.
    pub(crate) unknown: u64,
    /// The estimates that were shown. Their waits are not known yet.
    estimates: Vec<ShownEstimate>,
}

/// What all clients of a crowd share.
pub(crate) struct CrowdContext {
    pub(crate) http: reqwest::Client,
    pub(crate) queue: String,
    /// The queue at the proxy, for the visitors.
    pub(crate) queue_url: Arc<str>,
    /// The address of the runner, for the protected service and the operator.
    pub(crate) runner_url: String,
}

fn draw(chance: f64) -> bool {
    rand::rng().random_bool(chance.min(1.0))
}

impl Visit {
    fn new(is_follower: bool) -> Self {
        Self {
            end: End::Served,
            is_follower,
            counts: RequestCounts::default(),
            positions: PositionTrail::default(),
            place: None,
            promoted_at_ms: None,
            claimed_at_ms: None,
            has_come_back: false,
            unknown: 0,
            estimates: Vec::new(),
        }
    }

    /// The estimates whose wait is known.
    pub(crate) fn shown_estimates(&self) -> impl Iterator<Item = ShownEstimate> {
        let promoted_at_ms = self.promoted_at_ms.filter(|_| self.is_follower);
        self.estimates.iter().filter_map(move |estimate| {
            Some(ShownEstimate {
                wait_ms: promoted_at_ms?.saturating_sub(estimate.shown_at_ms),
                ..*estimate
            })
        })
    }

    /// Takes what the visitor sees after a step.
    fn record_step(&mut self, step: Step, visitor: &FollowingVisitor) {
        let (at_ms, follower) = (now_ms(), &visitor.follower);
        let Some(entry) = follower.entry() else { return };
        if entry.state == EntryState::Ready {
            self.promoted_at_ms = entry
                .claim_by_ms
                .map(|ms| ms.saturating_sub(u64::from(CLAIM_SECONDS) * 1_000));
        }
        let Some(position) = follower.unclamped_position() else {
            return;
        };
        self.place = entry.place.or(self.place);
        match (step, follower.newer_document()) {
            (Step::Entry, _) => self.positions.record_answer(entry.visit, position, at_ms),
            (Step::Document { is_newer: true }, Some(document)) if follower.is_far() => {
                self.positions
                    .record_document(entry.visit, position, document.now_ms);
            }
            _ => return,
        }
        match follower.shown_estimate(visitor.now_ms()) {
            Some(range) => {
                self.estimates.push(ShownEstimate {
                    shown_at_ms: at_ms,
                    low_s: range.low,
                    high_s: range.high,
                    wait_ms: 0,
                    is_by_document: step != Step::Entry,
                });
            }
            None => self.unknown += 1,
        }
    }
}

impl CrowdContext {
    /// Runs the whole visit of a client.
    pub(crate) async fn run_visit(&self, plan: VisitPlan) -> Visit {
        sleep(plan.arrives_after).await;
        let mut visit = Visit::new(plan.conduct == Conduct::FollowsProtocol);
        let mut visitor = FollowingVisitor::new(self.http.clone(), self.queue_url.clone(), true);
        visit.end = self.wait_for_turn(plan, &mut visitor, &mut visit).await;
        if visit.end == End::Served {
            self.stay(plan.stays, &mut visitor).await;
        }
        visit.counts = visitor.counts;
        visit
    }

    /// Follows the place until the visitor is active, or the visit has ended otherwise.
    async fn wait_for_turn(&self, plan: VisitPlan, visitor: &mut FollowingVisitor, visit: &mut Visit) -> End {
        let entered_at = Instant::now();
        let gives_up = match plan.conduct {
            Conduct::Vanishes(after) => Some((entered_at + after, End::Vanished)),
            Conduct::Leaves(after) => Some((entered_at + after, End::Left)),
            Conduct::FollowsProtocol | Conduct::Sleeps(_) => None,
        };
        let mut sleeps_for = match plan.conduct {
            Conduct::Sleeps(duration) => Some(duration),
            _ => None,
        };
        // A sleeper who missed the turn enters again, once, and gets the old place.
        let mut can_enter_again = false;
        loop {
            let state = visitor.follower.entry().map(|entry| entry.state);
            let is_waiting = state == Some(EntryState::Waiting);
            match state {
                Some(EntryState::Active) => {
                    visit.claimed_at_ms = Some(now_ms());
                    return End::Served;
                }
                Some(EntryState::Waiting | EntryState::Ready) | None => {}
                Some(_) => return End::Lost,
            }
            if is_waiting
                && !visitor.follower.is_far()
                && let Some(duration) = sleeps_for.take()
            {
                sleep(duration).await;
                visitor.follower.wake(visitor.now_ms(), false);
                (visit.has_come_back, can_enter_again) = (true, true);
            }
            if let Some((at, end)) = gives_up
                && is_waiting
                && visitor.next_request_at() >= at
            {
                sleep_until(at).await;
                if end == End::Left {
                    visitor.leave().await;
                }
                return end;
            }
            self.sample_shown_position(visitor, visit).await;
            let step = visitor.step().await;
            visit.record_step(step, visitor);
            if step == (Step::Document { is_newer: true }) {
                self.sample_read_position(visitor, visit).await;
            }
            if matches!(step, Step::End(_)) {
                if !std::mem::take(&mut can_enter_again) {
                    return End::Lost;
                }
                visitor.follower.forget_entry(visitor.now_ms());
            }
        }
    }

    /// Waits for the next request. At some moment before it, compares the position that the visitor sees with the true one,
    /// if that is drawn.
    async fn sample_shown_position(&self, visitor: &FollowingVisitor, visit: &mut Visit) {
        let follower = &visitor.follower;
        let pause = visitor
            .next_request_at()
            .saturating_duration_since(Instant::now());
        let chance = pause.as_secs_f64() / SAMPLE_INTERVAL.as_secs_f64();
        if !follower.is_far() || follower.newer_document().is_none() || !draw(chance) {
            return;
        }
        sleep(pause.mul_f64(rand::random())).await;
        let shown = follower
            .shown_position()
            .and_then(|position| i64::try_from(position).ok());
        visit
            .positions
            .shown_samples
            .extend(self.sample(visitor, shown).await);
    }

    /// Compares the position by a document that just came with the true one, if that is drawn.
    async fn sample_read_position(&self, visitor: &FollowingVisitor, visit: &mut Visit) {
        if visitor.follower.is_far() && draw(SAMPLE_SHARE) {
            let read = visitor.follower.unclamped_position();
            visit
                .positions
                .read_samples
                .extend(self.sample(visitor, read).await);
        }
    }

    /// Asks the runner for the true position, past the proxy and without counting it. If the visitor is called just then,
    /// the question checks in, which the visitor does a moment later anyway.
    async fn sample(&self, visitor: &FollowingVisitor, computed: Option<i64>) -> Option<PositionSample> {
        let token = &visitor.follower.entry()?.token;
        let url = format!("{}/queues/{}/entries/{token}", self.runner_url, self.queue);
        let answer: Value = self.http.get(url).send().await.ok()?.json().await.ok()?;
        Some(PositionSample {
            computed: computed?,
            actual: answer["position"].as_i64()?,
        })
    }

    /// The visitor is active for a while. Then the protected service completes the visit.
    async fn stay(&self, stays: Duration, visitor: &mut FollowingVisitor) {
        let until = Instant::now() + stays;
        while visitor.next_request_at() < until {
            visitor.step().await;
        }
        sleep_until(until).await;
        let Some(entry) = visitor.follower.entry() else {
            return;
        };
        let url = format!(
            "{}/queues/{}/entries/{}/complete",
            self.runner_url, self.queue, entry.token
        );
        for _ in 0..COMPLETE_ATTEMPTS {
            let request = self.http.post(&url).json(&json!({ "visit": entry.visit }));
            if request
                .send()
                .await
                .is_ok_and(|answer| answer.status().is_success())
            {
                return;
            }
            sleep(Duration::from_secs(1).mul_f64(rand::random())).await;
        }
    }
}
