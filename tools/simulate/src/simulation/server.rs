//! The simulated server: it asks the line, and makes the answers by the functions of `api` that the routes use.

use rand::RngExt;
use vestibule_api::{EntryFacts, Problem, code_of_end, describe_entry};
use vestibule_crowd::{
    act::{Act, Answer},
    rules::Refusal,
};
use vestibule_domain::{change::Change, entry_status::EntryStatus, lane::LaneProgress, state::EntryState};
use vestibule_line::{
    Arrival, CheckIn, ClaimOutcome, EnterOutcome, EntryLookup, LeaveOutcome, LeaveReason, NotFound,
    ValidateOutcome, Validation,
};
use vestibule_sizing::ceilings::{LANE_COST, Route};
use vestibule_wire::Entry;

use super::{
    state::{Simulation, resolve},
    unix_time::START_MS,
    visitor_state::VisitorState,
};

/// The request of an act to the gateway. The CDN is asked for the document.
fn route(act: Act) -> Option<Route> {
    match act {
        Act::Enter => Some(Route::Enter),
        Act::Poll | Act::HeldPoll { .. } | Act::Look | Act::Extend => Some(Route::Status),
        Act::Claim => Some(Route::Claim),
        Act::Leave => Some(Route::Leave),
        Act::Validate => Some(Route::Validate),
        Act::Complete => Some(Route::Complete),
        Act::Document | Act::Turn => None,
    }
}

/// What a visitor is told whose entry is not in the line: how the visit ended.
fn refuse_ended(state: EntryState) -> Refusal {
    let code = code_of_end(state);
    Refusal {
        status: code.status(),
        code: Some(code),
        retry_after_ms: 0.0,
        state: Some(state),
    }
}

fn refuse_too_early(status: &EntryStatus) -> Refusal {
    let problem = Problem::not_your_turn(status);
    let answer = problem.answer();
    Refusal {
        status: answer.status,
        code: Some(answer.code),
        retry_after_ms: 0.0,
        state: None,
    }
}

impl Simulation {
    /// What a visitor is answered. `None` if the server holds the poll.
    pub(super) fn answer(&mut self, number: u32, act: Act) -> Option<Result<Answer, Refusal>> {
        if let Some(route) = route(act)
            && let Err(failure) = self.admit_request(route)
        {
            return Some(self.answer_without_line(number, act, failure));
        }
        let answer = match act {
            Act::Turn => return Some(Ok(Answer::Done)),
            Act::Document => return Some(self.read_document(number)),
            Act::Enter => Ok(self.enter(number)),
            Act::Poll | Act::Look => self.poll(number),
            Act::HeldPoll { seconds } => {
                let answer = self.begin_held_poll(number, act, seconds);
                self.record_return(number);
                self.serve_request(number);
                return answer;
            }
            Act::Claim => self.claim(number),
            Act::Validate => self.validate(number),
            Act::Complete => self.leave(number, LeaveReason::Complete),
            Act::Leave => self.leave(number, LeaveReason::Leave),
            Act::Extend => unreachable!("no stay is made longer"),
        };
        self.record_return(number);
        if matches!(act, Act::Enter | Act::Poll | Act::Look) {
            self.serve_request(number);
        }
        Some(answer)
    }

    /// The answer about a live entry. `has_entered`: the visitor has just entered.
    pub(super) fn answer_entry(
        &mut self,
        number: u32,
        status: EntryStatus,
        lane: Option<LaneProgress>,
        has_entered: bool,
    ) -> Answer {
        self.refresh_reading();
        let state = &self.visitors[number as usize];
        let facts = EntryFacts {
            id: state.id,
            status,
            lane,
            joined_at_ms: None,
            promoted_at_ms: state.turn_at_ms().map(|at_ms| START_MS + at_ms),
            durable: None,
        };
        let (moment, rng) = self.moment();
        let entry = describe_entry(moment, &facts, has_entered, &mut || rng.random());
        if status.state() == EntryState::Waiting {
            self.record_pause(&entry);
        }
        Answer::Entry(Box::new(entry))
    }

    fn record_pause(&mut self, entry: &Entry) {
        let pause_ms = entry.retry_after_ms.unwrap_or(0);
        self.outcome.retry_after_ms_max = self.outcome.retry_after_ms_max.max(pause_ms);
    }

    fn enter(&mut self, number: u32) -> Answer {
        let id = self.visitors[number as usize].id;
        let entered = resolve(self.line.enter(&self.queue, id, Arrival::Ordinary)).expect("the queue exists");
        let EnterOutcome::Joined { status, .. } = entered else {
            panic!("the line refused a visitor: {entered:?}");
        };
        let is_first = self.visitors[number as usize].turn.is_none();
        let turn = *self.visitors[number as usize]
            .turn
            .get_or_insert_with(|| self.turn_order.enter(number));
        self.to_enter -= u32::from(is_first);
        match status {
            EntryStatus::Active { .. } => {
                self.record_admission(&[turn]);
                self.sample.served += 1;
                self.visitors[number as usize].is_admitted = true;
            }
            _ => self.sample.waiting += 1,
        }
        self.refresh_reading();
        let lane = self.read_lane_if_far(status);
        self.answer_entry(number, status, lane, true)
    }

    /// Reads how far the lane of an entry has moved, after its position was read. `None` if the entry is called.
    fn read_lane_if_far(&mut self, status: EntryStatus) -> Option<LaneProgress> {
        let EntryStatus::Waiting { score, .. } = status else {
            return None;
        };
        if self.reading.is_called(score) {
            return None;
        }
        self.charge_slot(LANE_COST);
        resolve(self.line.lane_progress(&self.queue, score.lane())).ok()
    }

    /// Reads an entry for its visitor, who checks in with that.
    pub(super) fn check_in(&mut self, number: u32) -> CheckIn {
        let state = &mut self.visitors[number as usize];
        let checked_in = resolve(self.line.check_in(&self.queue, state.id)).expect("the queue exists");
        if let EntryLookup::Found(EntryStatus::Waiting { score, .. }) = checked_in.lookup
            && checked_in
                .lane
                .is_some_and(|lane| score.raw() <= lane.check_in_through)
        {
            state.checked_in_at_ms = Some(self.now_ms);
        }
        checked_in
    }

    fn poll(&mut self, number: u32) -> Result<Answer, Refusal> {
        let CheckIn { lookup, lane } = self.check_in(number);
        self.answer_lookup(number, lookup, lane)
    }

    pub(super) fn answer_lookup(
        &mut self,
        number: u32,
        lookup: EntryLookup,
        lane: Option<LaneProgress>,
    ) -> Result<Answer, Refusal> {
        match lookup {
            EntryLookup::Found(status) => Ok(self.answer_entry(number, status, lane, false)),
            EntryLookup::NotFound(missing) => Err(self.refuse_missing(number, missing)),
        }
    }

    fn claim(&mut self, number: u32) -> Result<Answer, Refusal> {
        let id = self.visitors[number as usize].id;
        match resolve(self.line.claim(&self.queue, id)).expect("the queue exists") {
            ClaimOutcome::Active { status, .. } => {
                let state = &mut self.visitors[number as usize];
                let turn_at_ms = state.turn_at_ms().unwrap_or(self.now_ms);
                let after_ms = u32::try_from(self.now_ms - turn_at_ms).unwrap_or(u32::MAX);
                state.outcome.claimed_after_ms.get_or_insert(after_ms);
                state.is_admitted = true;
                Ok(self.answer_entry(number, status, None, false))
            }
            // A visitor who claims too early is present.
            ClaimOutcome::StillWaiting(status) => {
                self.check_in(number);
                Err(refuse_too_early(&status))
            }
            ClaimOutcome::NotFound(missing) => Err(self.refuse_missing(number, missing)),
        }
    }

    fn validate(&mut self, number: u32) -> Result<Answer, Refusal> {
        let id = self.visitors[number as usize].id;
        let validation = Validation {
            visit: None,
            claims: false,
            consumes: false,
            use_id: None,
            reactivate_until_ms: None,
        };
        match resolve(self.line.validate(&self.queue, id, validation)).expect("the queue exists") {
            ValidateOutcome::Active { .. } | ValidateOutcome::OtherVisit => Ok(Answer::Done),
            ValidateOutcome::NotActive(status) => Err(refuse_too_early(&status)),
            ValidateOutcome::NotFound(missing) => Err(self.refuse_missing(number, missing)),
        }
    }

    /// Ends a visit, because the visitor leaves or the protected service has finished with the visitor.
    fn leave(&mut self, number: u32, reason: LeaveReason) -> Result<Answer, Refusal> {
        let VisitorState { id, turn, .. } = self.visitors[number as usize];
        let had_turn = self.visitors[number as usize].turn_at_ms().is_some();
        if let Some(turn) = turn.filter(|_| !had_turn && reason == LeaveReason::Leave) {
            self.turn_order.leave(turn);
        }
        match resolve(self.line.leave(&self.queue, id, None, reason)).expect("the queue exists") {
            LeaveOutcome::Ended(change) => {
                self.visit_ends.extend(change.visit_end());
                if had_turn || reason == LeaveReason::Complete {
                    self.checker.release_slots(1);
                }
                Ok(Answer::Done)
            }
            LeaveOutcome::NotActive(status) => Err(refuse_too_early(&status)),
            // The visit has already ended, which is what the caller wants.
            LeaveOutcome::OtherVisit | LeaveOutcome::NotFound(_) => Ok(Answer::Done),
        }
    }

    fn refuse_missing(&self, number: u32, missing: NotFound) -> Refusal {
        let by_line = match missing {
            NotFound::Ended(change) => Some(change.event.state()),
            NotFound::Unknown { .. } => None,
        };
        let ended = by_line.or(self.visitors[number as usize].ended);
        refuse_ended(ended.unwrap_or(EntryState::Expired))
    }

    /// Records how a visit ended, as the backup does.
    pub(super) fn record_end(&mut self, change: &Change) {
        let state = change.event.state();
        if !state.is_live() {
            let number = self.visitor_by_id[&change.id];
            self.visitors[number as usize].ended = Some(state);
        }
    }

    /// Records that the line admitted entries, by the numbers of their turns.
    pub(super) fn record_admission(&mut self, turns: &[u32]) {
        if turns.is_empty() {
            return;
        }
        let (now_ms, presence_ms) = (self.now_ms, self.settings.presence_ms());
        self.checker.admit(now_ms, turns.len() as u64);
        let visitors = &self.visitors;
        let attendance = |visitor: u32| visitors[visitor as usize].attendance(now_ms, presence_ms);
        self.turn_order.serve(now_ms, turns, attendance);
        let outcome = &mut self.outcome;
        outcome.served_from_ms = outcome.served_from_ms.min(now_ms);
        outcome.served_until_ms = now_ms;
    }
}
