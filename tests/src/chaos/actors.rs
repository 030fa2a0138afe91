//! The visitors, over HTTP, and the protected service. Most follow the rules of the client, each with the temper that the plan
//! drew. The others are rude: they send any request at any time, also twice at the same time, and with tokens of no entry.

use std::sync::Arc;

use futures_util::future::join_all;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use tokio::{
    sync::watch,
    time::{Duration, sleep},
};
use uuid::Uuid;
use vestibule_crowd::{
    act::{Act, Answer, send},
    crowd::Crowd,
    door::Caller,
    record::{VisitEnd, VisitRecord},
    temper::Temper,
};

use super::{
    api_client::ApiClient,
    link::{Phase, VisitorLink},
    plan::{ClientKind, PlannedVisit, Visitor},
};
use crate::{api::ApiDoor, in_process::ApiRequest};

/// A visitor in a run.
pub(super) struct Actor {
    plan: Visitor,
    caller: Caller,
    pub(super) link: Arc<VisitorLink>,
}

/// What a visitor met, and what went wrong in it.
#[derive(Debug, Default)]
pub(super) struct ActorOutcome {
    /// A record of each visit by the rules.
    pub(super) records: Vec<VisitRecord>,
    /// Answers that no visitor may get.
    pub(super) violations: Vec<String>,
}

/// The acts of a rude visitor, each as often as it is drawn. It enters and asks more often than it ends its visit, or it would
/// seldom be let in.
const RUDE_ACTS: [Act; 14] = [
    Act::Enter,
    Act::Enter,
    Act::Poll,
    Act::Poll,
    Act::Poll,
    Act::HeldPoll { seconds: 1 },
    Act::Document,
    Act::Claim,
    Act::Claim,
    Act::Claim,
    Act::Validate,
    Act::Validate,
    Act::Complete,
    Act::Leave,
];
/// The longest pause between the requests of a rude visitor, in milliseconds.
const RUDE_PAUSE_MS: u64 = 400;

impl Actor {
    pub(super) fn new(
        number: usize,
        plan: &Visitor,
        id: &str,
        client: &Arc<ApiClient>,
        phase: &watch::Receiver<Phase>,
    ) -> Self {
        Self {
            plan: plan.clone(),
            caller: Caller::with_id(id.to_owned()),
            link: Arc::new(VisitorLink::new(number, plan.closes_after_ms, client, phase)),
        }
    }

    fn door(&self) -> ApiDoor<Arc<VisitorLink>> {
        ApiDoor::new(
            self.link.clone(),
            self.link.client.queue.trim_start_matches("/queues/"),
        )
    }

    /// Visits the queue as the plan says.
    pub(super) async fn run(self) -> ActorOutcome {
        sleep(Duration::from_millis(self.plan.arrives_ms)).await;
        match &self.plan.client {
            ClientKind::Follows(visits) => ActorOutcome {
                records: self.follow_rules(visits).await,
                violations: Vec::new(),
            },
            ClientKind::Rude { rounds } => ActorOutcome {
                records: Vec::new(),
                violations: self.act_rudely(*rounds).await,
            },
        }
    }

    /// Visits the queue by the rules, one time after the other, as long as the visitor ends each visit.
    async fn follow_rules(&self, visits: &[PlannedVisit]) -> Vec<VisitRecord> {
        let mut records = Vec::new();
        for (number, visit) in visits.iter().enumerate() {
            sleep(Duration::from_millis(visit.after_ms)).await;
            if number > 0 {
                self.link.begin_stay().await;
            }
            let seeds = (0..u64::from(visit.temper.tabs)).map(|tab| self.plan.seed.wrapping_add(tab));
            let tabs = join_all(seeds.map(|seed| self.follow_in_tab(&visit.temper, seed))).await;
            let has_ended = tabs.iter().any(is_ended_by_visitor);
            records.extend(tabs);
            if !has_ended {
                break;
            }
        }
        records
    }

    async fn follow_in_tab(&self, temper: &Temper, seed: u64) -> VisitRecord {
        let crowd = Crowd::new(self.door());
        let mut visitor = crowd.arrive(self.caller.clone(), temper.clone(), seed);
        let mut had_place = false;
        while visitor.next().is_some() {
            let has_place = visitor.state().is_some();
            if had_place && !has_place {
                // The visitor comes back after a missed turn.
                self.link.begin_stay().await;
            }
            had_place = has_place;
            crowd.step(&mut visitor).await;
        }
        if matches!(visitor.record.end, Some(VisitEnd::Completed | VisitEnd::LeftSlot)) {
            // The protected service must not accept this visit any more.
            let (token, visit) = (visitor.token(), visitor.visit());
            let _ = send(&crowd.door, Act::Validate, &visitor.caller, token, visit).await;
        }
        visitor.record
    }

    /// Sends one or two requests at the same time, so often, and mostly leaves at last. A request that ends a visit names the
    /// one that was shown last, as the API asks for. Returns what an invented token opened.
    async fn act_rudely(&self, rounds: u32) -> Vec<String> {
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(self.plan.seed);
        let mut visit = RudeVisit::default();
        let mut violations = Vec::new();
        for _ in 0..rounds {
            sleep(Duration::from_millis(draw.random_range(0..RUDE_PAUSE_MS))).await;
            let mut acts = vec![RUDE_ACTS[draw.random_range(0..RUDE_ACTS.len())]];
            match draw.random_range(0..8) {
                0 | 1 => acts.push(acts[0]),
                2 => acts.push(RUDE_ACTS[draw.random_range(0..RUDE_ACTS.len())]),
                3 => violations.extend(self.try_invented_token(acts[0]).await),
                _ => {}
            }
            self.send_at_once(&acts, &mut visit).await;
        }
        if draw.random_ratio(3, 4) {
            self.send_at_once(&[Act::Leave], &mut visit).await;
            self.send_at_once(&[Act::Poll, Act::Claim], &mut visit).await;
        }
        violations
    }

    async fn send_at_once(&self, acts: &[Act], visit: &mut RudeVisit) {
        let mut acts: Vec<_> = acts.iter().map(|act| visit.permitted(*act)).collect();
        if visit.is_over && acts.contains(&Act::Enter) {
            self.link.begin_stay().await;
            // A request about an entry would name the visit of the stay before.
            *visit = RudeVisit::default();
            acts.retain(|act| *act == Act::Enter);
        }
        let door = self.door();
        let (token, number) = (visit.token.clone(), visit.number);
        let mut is_over = visit.is_over;
        let answers = acts
            .iter()
            .map(|act| send(&door, *act, &self.caller, &token, number));
        for (act, answer) in acts.iter().zip(join_all(answers).await) {
            match answer {
                Ok(Answer::Entry(entry)) => {
                    visit.may_be_let_in = false;
                    visit.number = visit.number.max(entry.visit);
                    visit.token = entry.token;
                }
                Ok(_) => is_over |= matches!(act, Act::Leave | Act::Complete),
                Err(refusal) => {
                    let asks_to_be_let_in = matches!(act, Act::Claim | Act::Validate);
                    visit.may_be_let_in |= asks_to_be_let_in && refusal.is_retryable();
                    is_over |= refusal.is_end_of_visit();
                }
            }
        }
        // A request to enter may have begun another visit meanwhile.
        visit.is_over = is_over && visit.number == number;
    }

    /// Sends the request of an act with a token that names no entry. It is in no history, because it is about no place.
    async fn try_invented_token(&self, act: Act) -> Option<String> {
        let path = format!("{}/entries/{}", self.link.client.queue, Uuid::new_v4());
        let request = match act {
            Act::Claim => ApiRequest::post(format!("{path}/claim")),
            Act::Leave => ApiRequest::delete(format!("{path}?visit=1")),
            _ => ApiRequest::get(path),
        };
        let request = request.visitor(self.caller.visitor.as_deref()?);
        let answer = self.link.send_unrecorded(request).await?;
        let has_opened = answer.status.is_success();
        has_opened.then(|| format!("an invented token was accepted: {act:?} {answer:?}"))
    }
}

/// What a rude visitor knows of its visit.
#[derive(Debug, Default)]
struct RudeVisit {
    token: String,
    number: u64,
    /// Whether an answer said that it has ended.
    is_over: bool,
    /// Whether a request to be let in had no answer, and no later one has said what came of it.
    may_be_let_in: bool,
}

impl RudeVisit {
    /// The act, or one that is possible instead. Without an entry that is to enter. One who may be let in asks before the visit
    /// ends: the checker knows of a session by what the visitor was told.
    fn permitted(&self, act: Act) -> Act {
        match act {
            Act::Enter | Act::Document => act,
            _ if self.token.is_empty() => Act::Enter,
            Act::Leave | Act::Complete if self.may_be_let_in => Act::Poll,
            _ => act,
        }
    }
}

/// Whether the visitor, or the protected service, ended the visit and was told so.
fn is_ended_by_visitor(record: &VisitRecord) -> bool {
    matches!(
        record.end,
        Some(VisitEnd::LeftLine | VisitEnd::LeftSlot | VisitEnd::Completed)
    )
}

/// A new visitor id, as a client creates it.
pub(super) fn visitor_id() -> String {
    Uuid::new_v4().to_string()
}
