//! One sale: visitors pass through the queue, and what they were told is kept.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use vestibule_crowd::temper::{Conduct, ConductKind, StayEnd};

use crate::chaos::{
    actors::{Actor, ActorOutcome},
    api_client::ApiClient,
    await_quiet,
    history::{Call, RequestKind},
    link::Phase,
    plan::Visitor,
    world::{FaultPeriod, World},
};

/// The time limit for a part of a sale. It usually takes some seconds.
const PART_MAX: Duration = Duration::from_secs(90);
/// A sale is sold out when this many visitors have bought.
const SOLD: usize = 3;

/// A sale that goes on.
pub(super) struct Sale {
    world: Arc<World>,
    client: Arc<ApiClient>,
    visitors: Vec<Visitor>,
    ids: Vec<String>,
    phase: watch::Sender<Phase>,
    tasks: Vec<JoinHandle<ActorOutcome>>,
}

/// What the answers told one visitor.
// Each flag is one answer.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, Default)]
pub(super) struct VisitorView {
    pub(super) id: String,
    /// Each visit: token and number.
    pub(super) visits: BTreeSet<(String, u64)>,
    pub(super) joined_at_ms: Option<u64>,
    pub(super) highest_position: u64,
    pub(super) was_ready: bool,
    pub(super) was_let_in: bool,
    /// A request to be let in had no answer.
    pub(super) asked_in_vain: bool,
    pub(super) has_completed: bool,
    pub(super) has_left: bool,
    pub(super) was_dismissed: bool,
    /// Redis lost a change of which the answer did not say that it is durable.
    pub(super) may_be_forgotten: bool,
    pub(super) pass: Option<String>,
}

impl Sale {
    /// Lets these visitors come to the queue.
    pub(super) fn begin(world: &Arc<World>, visitors: &[Visitor], ids: Vec<String>) -> Self {
        let client = Arc::new(ApiClient::for_world(world));
        let (phase, seen_phase) = watch::channel(Phase::Faults);
        let actors = visitors.iter().zip(&ids).enumerate();
        let tasks = actors
            .map(|(number, (visitor, id))| {
                let actor = Actor::new(number, visitor, id, &client, &seen_phase);
                tokio::spawn(actor.run())
            })
            .collect();
        Self {
            world: world.clone(),
            client,
            visitors: visitors.to_vec(),
            ids,
            phase,
            tasks,
        }
    }

    /// Waits until all visitors have entered, some have bought, and those who leave the line have left it.
    pub(super) async fn await_sold_out(&self) {
        self.await_condition("sold out", |sale| {
            let views = sale.views();
            let is_settled = |(view, visitor): (&VisitorView, &Visitor)| {
                let conduct = visitor.temper().map(|temper| temper.conduct);
                let leaves = matches!(conduct, Some(Conduct::Leaves { .. }));
                !view.visits.is_empty() && (!leaves || view.has_left || view.was_let_in)
            };
            let sold = views.iter().filter(|view| view.has_completed).count();
            sold >= SOLD && views.iter().zip(&sale.visitors).all(is_settled)
        })
        .await;
    }

    /// Waits until every visit has ended, except those of visitors who keep a session or a turn.
    pub(super) async fn await_ended(&self) {
        self.await_condition("ended", |sale| {
            let views = sale.views();
            let mut visitors = views.iter().zip(&sale.visitors).zip(&sale.tasks);
            visitors.all(|((view, visitor), task)| {
                task.is_finished()
                    || visitor
                        .temper()
                        .is_some_and(|temper| match temper.conduct.kind() {
                            ConductKind::NoShow => view.was_ready,
                            _ => temper.stay.end == StayEnd::Expires && view.was_let_in,
                        })
            })
        })
        .await;
    }

    /// Ends the requests of those who still have a session or a turn, and returns what each visitor was told.
    pub(super) async fn stop(self) -> Vec<VisitorView> {
        self.phase.send_replace(Phase::Ended);
        assert!(await_quiet(&self.client).await, "a request was never answered");
        self.tasks.iter().for_each(JoinHandle::abort);
        self.views()
    }

    /// All requests and answers of a visitor, for the evidence of a failed seed.
    fn describe_calls(&self) -> String {
        let calls = self.client.history.calls();
        let lines = calls
            .iter()
            .map(|call| format!("visitor {} {call}\n", call.visitor));
        lines.collect()
    }

    async fn await_condition(&self, what: &str, is_met: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PART_MAX;
        while !is_met(self) {
            assert!(
                Instant::now() < end,
                "the sale was not {what} in time:\n{}",
                self.describe_calls()
            );
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn views(&self) -> Vec<VisitorView> {
        let (calls, faults) = (self.client.history.calls(), self.world.fault_periods());
        let view = |(number, id): (usize, &String)| {
            let own = calls.iter().filter(|call| call.visitor == number);
            let view = VisitorView {
                id: id.clone(),
                ..VisitorView::default()
            };
            own.fold(view, |view, call| view.add(call, &faults))
        };
        self.ids.iter().enumerate().map(view).collect()
    }
}

impl VisitorView {
    fn add(mut self, call: &Call, faults: &[FaultPeriod]) -> Self {
        if call.status() == 410 && call.text("code") == Some("queue-finished") {
            self.was_dismissed = true;
        }
        if !call.is_acknowledged() {
            self.asked_in_vain |= matches!(call.kind, RequestKind::Claim | RequestKind::Validate);
            return self;
        }
        self.may_be_forgotten |= may_be_forgotten(call, faults);
        if let (Some(token), Some(visit)) = (call.text("token"), call.number("visit")) {
            self.visits.insert((token.to_owned(), visit));
        }
        self.joined_at_ms = call.number("joined_at_ms").or(self.joined_at_ms);
        self.highest_position = self.highest_position.max(call.number("position").unwrap_or(0));
        self.was_ready |= call.text("state") == Some("ready");
        self.was_let_in |= call.text("state") == Some("active");
        self.has_completed |= call.kind == RequestKind::Complete;
        self.has_left |= call.kind == RequestKind::Leave;
        if let Some(pass) = call.text("pass") {
            self.pass = Some(pass.to_owned());
        }
        self
    }

    /// The token and the number of the last visit.
    pub(super) fn last_visit(&self) -> Option<&(String, u64)> {
        self.visits.iter().max_by_key(|(_, visit)| *visit)
    }

    /// The token of the last visit.
    pub(super) fn token(&self) -> Option<&str> {
        self.last_visit().map(|(token, _)| token.as_str())
    }
}

/// Whether an acknowledged change may be gone: Redis lost data after it, and the table need not have it. The answer to an end
/// does not say whether it is durable. It counts as not durable if a fault affected the table at that time.
fn may_be_forgotten(call: &Call, faults: &[FaultPeriod]) -> bool {
    let is_durable = match call.kind {
        RequestKind::Enter | RequestKind::Claim | RequestKind::Validate => call.is_durable(),
        RequestKind::Complete | RequestKind::Leave => !faults
            .iter()
            .any(|period| period.fault.affects_table() && period.overlaps(call.begun_ms, call.ended_ms)),
        RequestKind::Status => true,
    };
    let mut losses = faults.iter().filter(|period| period.fault.may_lose_changes());
    !is_durable && losses.any(|loss| loss.until_ms >= call.begun_ms)
}

/// The totals that a report must show, by what the visitors were told.
pub(super) fn count_totals(views: &[VisitorView]) -> Value {
    let count = |is_counted: fn(&VisitorView) -> bool| views.iter().filter(|view| is_counted(view)).count();
    json!({
        "entered": views.iter().map(|view| view.visits.len()).sum::<usize>(),
        "completed": count(|view| view.has_completed),
        "left": count(|view| view.has_left),
        "dismissed": count(|view| view.was_dismissed),
        "expired": 0,
        "no_shows": 0,
        "evicted": 0,
        "absences": 0,
    })
}

/// How many visitors became active. It is not certain of one who left the line because a claim had no answer.
pub(super) fn count_let_in(views: &[VisitorView]) -> RangeInclusive<u64> {
    let count = |is_counted: fn(&VisitorView) -> bool| {
        let counted = views.iter().filter(|view| is_counted(view)).count();
        u64::try_from(counted).expect("few visitors")
    };
    let certain = count(|view| view.was_let_in);
    certain..=certain + count(|view| !view.was_let_in && view.asked_in_vain)
}
