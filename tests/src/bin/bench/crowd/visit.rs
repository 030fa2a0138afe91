//! One client of the crowd, and the positions that it was told beside the true ones.

use std::time::Duration;

use rand::RngExt;
use tokio::time::{sleep, sleep_until};
use vestibule_crowd::{
    act::Act,
    crowd::{Crowd, PlannedVisit},
    door::{Caller, Door},
    http::HttpDoor,
    record::VisitRecord,
    temper::ConductKind,
    visitor::Visitor,
};
use vestibule_tests::entries::now_ms;

use super::{
    estimate_accuracy::ShownEstimate,
    position_trail::{PositionSample, PositionTrail},
};

/// While a client follows the document, the position that its visitor sees is compared with the true one once in so long,
/// on average.
const SAMPLE_INTERVAL: Duration = Duration::from_mins(3);
/// The share of documents after which their positions are compared with the true ones.
const SAMPLE_SHARE: f64 = 0.05;

/// What a client met.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) record: VisitRecord,
    pub(crate) positions: PositionTrail,
}

/// What all clients of a crowd share.
pub(crate) struct CrowdContext {
    /// The crowd, whose door is the proxy for visitors, and the runner for the protected service.
    pub(crate) crowd: Crowd<HttpDoor>,
    /// The queue at the runner.
    pub(crate) origin: HttpDoor,
}

fn draw(chance: f64) -> bool {
    rand::rng().random_bool(chance.min(1.0))
}

impl Visit {
    /// Whether the client followed the protocol throughout.
    pub(crate) fn is_follower(&self) -> bool {
        self.record.conduct == ConductKind::Honest
    }

    /// The estimates whose wait is known.
    pub(crate) fn shown_estimates(&self) -> impl Iterator<Item = ShownEstimate> {
        let promoted_at_ms = self.record.promoted_at_ms.filter(|_| self.is_follower());
        self.record.estimates.iter().filter_map(move |estimate| {
            let shown_at_ms = whole_ms(estimate.at_ms);
            Some(ShownEstimate {
                shown_at_ms,
                low_s: estimate.low_s,
                high_s: estimate.high_s,
                wait_ms: promoted_at_ms?.saturating_sub(shown_at_ms),
                is_by_document: estimate.is_by_document,
            })
        })
    }
}

impl CrowdContext {
    /// Runs the whole visit of a client.
    pub(crate) async fn run_visit(&self, plan: PlannedVisit) -> Visit {
        sleep(plan.arrives_after).await;
        let mut visitor = self.crowd.arrive(plan.caller, plan.temper, plan.seed);
        let mut positions = PositionTrail::default();
        loop {
            self.sample_shown_position(&visitor, &mut positions).await;
            let Some(act) = self.crowd.step(&mut visitor).await else {
                break;
            };
            record_position(act, &visitor, &mut positions);
            if act == Act::Document && visitor.follower.is_far() && draw(SAMPLE_SHARE) {
                let read = visitor.follower.unclamped_position();
                positions.read_samples.extend(self.sample(&visitor, read).await);
            }
        }
        Visit {
            record: visitor.record,
            positions,
        }
    }

    /// Waits for the next request. At some moment before it, compares the position that the visitor sees with the true one,
    /// if that is drawn.
    async fn sample_shown_position(&self, visitor: &Visitor, positions: &mut PositionTrail) {
        let follower = &visitor.follower;
        let Some(due) = visitor.next() else { return };
        let pause_ms = (due.at_ms - self.crowd.clock.now_ms()).max(0.0);
        let chance = pause_ms / 1_000.0 / SAMPLE_INTERVAL.as_secs_f64();
        if !follower.is_far() || follower.newer_document().is_none() || !draw(chance) {
            return;
        }
        let at_ms = due.at_ms - pause_ms * rand::random::<f64>();
        sleep_until(self.crowd.clock.moment(at_ms)).await;
        let shown = follower.shown_position();
        let shown = shown.and_then(|position| i64::try_from(position).ok());
        positions.shown_samples.extend(self.sample(visitor, shown).await);
    }

    /// Asks the runner for the true position, past the proxy and without counting it. If the visitor is called just then,
    /// the question checks in, which the visitor does a moment later anyway.
    async fn sample(&self, visitor: &Visitor, computed: Option<i64>) -> Option<PositionSample> {
        let unnamed = Caller::default();
        let entry = self.origin.status(&unnamed, visitor.token(), 0).await.ok()?;
        Some(PositionSample {
            computed: computed?,
            actual: i64::try_from(entry.position?).ok()?,
        })
    }
}

/// Takes the position after a step.
fn record_position(act: Act, visitor: &Visitor, positions: &mut PositionTrail) {
    let follower = &visitor.follower;
    let Some(position) = follower.unclamped_position() else {
        return;
    };
    match (act, follower.newer_document()) {
        (Act::Document, Some(document)) if follower.is_far() => {
            positions.record_document(visitor.visit(), position, document.now_ms);
        }
        (Act::Document, _) => {}
        _ => positions.record_answer(visitor.visit(), position, now_ms()),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Unix milliseconds.
fn whole_ms(ms: f64) -> u64 {
    ms as u64
}
