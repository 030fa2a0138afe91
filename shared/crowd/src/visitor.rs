//! A visitor: the rules of the client, a temper, and the record of what it met. It sends nothing. Its caller asks what comes
//! [next](Visitor::next), sends that at its time, and hands over what came of it.

use vestibule_domain::state::EntryState;
use vestibule_wire::{Code, Entry};

use crate::{
    act::{Act, Answer, Due},
    door::Caller,
    record::{ShownEstimate, VisitEnd, VisitRecord},
    rules::{Chance, Follower, Phase, Refusal},
    stay::StayProgress,
    temper::{Conduct, StayEnd, Temper},
};

/// A request that ends a visit is sent so often until it is answered, with a pause that grows by this each time.
const END_ATTEMPTS: u32 = 5;
const END_PAUSE_MS: f64 = 1_000.0;
/// The protected service validates a turn again after so long, if the visitor may not act yet.
const SERVICE_PAUSE_MS: f64 = 1_000.0;
/// A no-show looks so often, once in so many milliseconds, whether the server has ended the turn.
const LOOKS: u32 = 30;
const LOOK_PAUSE_MS: f64 = 1_000.0;
/// A visitor counts as having a slot until so long before the server ends the turn or the session by itself, so that the count
/// is never too high.
const SLOT_MARGIN_MS: f64 = 1_000.0;
/// The status of an answer about a visit that has ended.
const GONE: u16 = 410;

/// Where a visitor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Has arrived, and has no place yet.
    Entering,
    /// Is in line.
    Waiting,
    /// May claim.
    Ready,
    /// Has been let in.
    Active,
    /// Has ended the visit.
    Ended,
}

/// A request that ends the visit, and how the visit ends with it.
#[derive(Debug, Clone)]
struct Closing {
    act: Act,
    end: VisitEnd,
    at_ms: f64,
    attempts: u32,
}

/// One visitor of a queue. Times are Unix milliseconds.
// Each is a fact of its own, and a visitor may have any of them.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug)]
pub struct Visitor {
    /// Who it is.
    pub caller: Caller,
    /// The rules that it follows.
    pub follower: Follower,
    /// What it has met.
    pub record: VisitRecord,
    /// Whether the record keeps the estimates that were shown.
    pub keeps_estimates: bool,
    temper: Temper,
    /// From when on the patience, and the sleep, count.
    in_line_since_ms: Option<f64>,
    /// When its phone sleeps, from when until when.
    sleep_ms: Option<(f64, f64)>,
    /// When its device has no network.
    offline_ms: Option<(f64, f64)>,
    /// When a request was last answered, or failed.
    heard_at_ms: f64,
    /// Whether it sends nothing any more, until it is told to end its visit.
    is_silent: bool,
    returns: u32,
    /// The id under which it entered last.
    entered_as: Option<String>,
    /// The order of the newest document that the client took.
    newest_document: Option<(u32, u32, u64)>,
    /// From when on the protected service validates the turn.
    service_at_ms: f64,
    /// Whether the client asks for the state now, whatever it was told.
    polls_at_once: bool,
    looks: u32,
    /// Until when the slot is the visitor's for certain, by the last answer.
    slot_until_ms: f64,
    stay: Option<StayProgress>,
    closing: Option<Closing>,
    last: LastPositions,
}

/// The last positions of a visit.
#[derive(Debug, Default)]
struct LastPositions {
    visit: u64,
    answered: Option<u64>,
    computed: Option<i64>,
    shown: Option<u64>,
    ahead: Option<u64>,
}

impl Visitor {
    /// A visitor who arrives now.
    pub fn new(caller: Caller, temper: Temper, chance: Chance, now_ms: f64) -> Self {
        let offline_ms = temper.offline_ms.as_ref();
        Self {
            follower: Follower::new(temper.client, chance, temper.clock.read(now_ms)),
            record: VisitRecord::new(temper.conduct.kind(), now_ms),
            keeps_estimates: false,
            in_line_since_ms: None,
            sleep_ms: None,
            offline_ms: offline_ms.map(|range| (now_ms + range.start, now_ms + range.end)),
            heard_at_ms: now_ms,
            is_silent: false,
            returns: 0,
            entered_as: None,
            newest_document: None,
            service_at_ms: now_ms,
            polls_at_once: false,
            looks: 0,
            slot_until_ms: f64::INFINITY,
            stay: None,
            closing: None,
            last: LastPositions::default(),
            caller,
            temper,
        }
    }

    /// How it behaves.
    pub fn temper(&self) -> &Temper {
        &self.temper
    }

    /// Where it is, as far as it knows.
    pub fn stage(&self) -> Stage {
        if self.record.end.is_some() {
            return Stage::Ended;
        }
        match self.state() {
            None => Stage::Entering,
            Some(EntryState::Waiting) => Stage::Waiting,
            Some(EntryState::Ready) => Stage::Ready,
            Some(EntryState::Active) => Stage::Active,
            Some(_) => Stage::Ended,
        }
    }

    /// The state of the entry in the last answer.
    pub fn state(&self) -> Option<EntryState> {
        self.follower.entry().map(|entry| entry.state)
    }

    /// The token of the entry. Empty before the first answer.
    pub fn token(&self) -> &str {
        self.follower.token().unwrap_or_default()
    }

    /// The number of the visit. 0 before the first answer.
    pub fn visit(&self) -> u64 {
        self.follower.entry().map_or(0, |entry| entry.visit)
    }

    /// Whether it sends nothing any more, and its entry is still there.
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Whether its phone sleeps.
    pub fn is_asleep(&self, now_ms: f64) -> bool {
        self.sleep_ms
            .is_some_and(|(from_ms, until_ms)| (from_ms..until_ms).contains(&now_ms))
    }

    /// Whether its device has no network, so that no request arrives.
    pub fn is_cut_off(&self, now_ms: f64) -> bool {
        self.offline_ms
            .is_some_and(|(from_ms, until_ms)| (from_ms..until_ms).contains(&now_ms))
    }

    /// What it does next. `None` once the visit has ended, or the visitor is [silent](Visitor::is_silent).
    pub fn next(&self) -> Option<Due> {
        if self.record.end.is_some() || self.is_silent {
            return None;
        }
        if let Some(closing) = &self.closing {
            return Some(Due {
                act: closing.act,
                at_ms: closing.at_ms,
            });
        }
        let turns = [self.giving_up(), self.sleep_end(), self.reconnection()];
        let turns = turns.into_iter().flatten().map(|due| self.after_sleep(due));
        let others = turns.chain(self.next_of_stay());
        let next = others.fold(self.after_sleep(self.client_request()), |first, other| {
            if other.at_ms <= first.at_ms { other } else { first }
        });
        Some(next)
    }

    /// The next request of the client, at the pace of the visitor.
    fn client_request(&self) -> Due {
        let next = self.follower.next_request();
        let at_ms = self.temper.clock.true_time(next.at_ms);
        match (self.temper.conduct, self.state()) {
            _ if self.polls_at_once => Due {
                act: Act::Poll,
                at_ms: self.heard_at_ms,
            },
            (Conduct::NoShow, Some(EntryState::Ready)) if self.returns == 0 => Due {
                act: Act::Look,
                at_ms: self.look_at_ms(),
            },
            (_, Some(EntryState::Ready)) if self.temper.is_let_in_by_service => Due {
                act: Act::Validate,
                at_ms: at_ms.max(self.service_at_ms),
            },
            // From the last answer of any kind: a pause after a failure is scaled as well.
            (Conduct::Paces { factor }, Some(EntryState::Waiting)) => Due {
                act: next.kind.into(),
                at_ms: self.heard_at_ms + (at_ms - self.heard_at_ms).max(0.0) / factor,
            },
            (Conduct::PollsLate { pause_ms }, Some(EntryState::Waiting)) => Due {
                act: next.kind.into(),
                at_ms: at_ms.max(self.heard_at_ms + pause_ms),
            },
            _ => Due {
                act: next.kind.into(),
                at_ms,
            },
        }
    }

    /// When a no-show looks: at the deadline of the turn, and then again and again.
    fn look_at_ms(&self) -> f64 {
        let deadline_ms = self.deadline_ms().unwrap_or_default();
        match self.looks {
            0 => deadline_ms,
            _ => deadline_ms.max(self.heard_at_ms + LOOK_PAUSE_MS),
        }
    }

    /// The deadline of the turn, by the last answer.
    fn deadline_ms(&self) -> Option<f64> {
        let claim_in_ms = self.follower.entry()?.claim_in_ms?;
        let answered_ms = self.temper.clock.true_time(self.follower.entry_at_ms());
        Some(answered_ms + milliseconds(claim_in_ms))
    }

    /// When the visitor leaves the line or vanishes.
    fn giving_up(&self) -> Option<Due> {
        match self.temper.conduct {
            Conduct::Vanishes { after_ms } => Some(Due {
                act: Act::Turn,
                at_ms: self.record.arrived_at_ms + after_ms,
            }),
            Conduct::Leaves { after_ms } if self.state() == Some(EntryState::Waiting) => Some(Due {
                act: Act::Leave,
                at_ms: self.in_line_since_ms? + after_ms,
            }),
            _ => None,
        }
    }

    fn sleep_end(&self) -> Option<Due> {
        let (_, at_ms) = self.sleep_ms?;
        Some(Due {
            act: Act::Turn,
            at_ms,
        })
    }

    fn reconnection(&self) -> Option<Due> {
        let (_, at_ms) = self.offline_ms?;
        Some(Due {
            act: Act::Turn,
            at_ms,
        })
    }

    /// What comes next of the stay. The protected service does not sleep.
    fn next_of_stay(&self) -> Option<Due> {
        let due = self.stay.as_ref()?.next(&self.temper.stay);
        Some(if due.act.is_of_service() {
            due
        } else {
            self.after_sleep(due)
        })
    }

    /// A phone that sleeps does nothing before it wakes.
    fn after_sleep(&self, due: Due) -> Due {
        match self.sleep_ms {
            Some((from_ms, until_ms)) if (from_ms..until_ms).contains(&due.at_ms) => Due {
                act: Act::Turn,
                at_ms: until_ms,
            },
            _ => due,
        }
    }

    /// The request of an act is about to be sent.
    pub fn send(&mut self, act: Act, now_ms: f64) {
        if act != Act::Turn && !act.is_of_service() {
            self.record.requests += 1;
        }
        match act {
            Act::Document => self.record.document_reads += 1,
            Act::Enter => self.record_id(),
            Act::Poll | Act::HeldPoll { .. } => {
                self.record.polls += 1;
                self.polls_at_once = false;
            }
            Act::Leave | Act::Complete => self.free_slot(now_ms),
            Act::Look if self.temper.conduct == Conduct::NoShow => self.looks += 1,
            _ => {}
        }
    }

    /// Takes what came of an act.
    pub fn receive(&mut self, act: Act, outcome: Result<Answer, Refusal>, now_ms: f64) {
        if act != Act::Turn {
            self.heard_at_ms = now_ms;
        }
        match outcome {
            _ if act == Act::Turn => self.turn(now_ms),
            Ok(Answer::Entry(entry)) => self.receive_entry(act, entry, now_ms),
            Ok(Answer::Document(document)) => {
                let is_newer = self.follower.receive_document(&document, self.own_ms(now_ms));
                if is_newer {
                    let order = (document.generation, document.epoch, document.now_ms);
                    let is_old = self.newest_document.is_some_and(|newest| order <= newest);
                    self.record.old_documents += u64::from(is_old);
                    self.newest_document = self.newest_document.max(Some(order));
                    self.record_screen(true, now_ms);
                }
                self.end_if_over(None, now_ms);
            }
            Ok(Answer::Done) => self.receive_done(act, now_ms),
            Err(refusal) => self.receive_refusal(act, &refusal, now_ms),
        }
        if self.looks >= LOOKS && self.record.end.is_none() {
            self.end(VisitEnd::Unknown, now_ms);
        }
    }

    /// The crowd is stopped: the visitor leaves, and the service completes those whom it has.
    pub fn stop(&mut self, now_ms: f64) {
        if self.record.end.is_some() || self.closing.is_some() {
            return;
        }
        match self.state() {
            None => self.end(VisitEnd::NoPlace, now_ms),
            Some(EntryState::Waiting) => self.close(Act::Leave, VisitEnd::LeftLine, now_ms),
            Some(EntryState::Active) if self.temper.stay.end == StayEnd::Completes => {
                self.close(Act::Complete, VisitEnd::Completed, now_ms);
            }
            Some(_) => self.close(Act::Leave, VisitEnd::LeftSlot, now_ms),
        }
    }

    /// A visitor who is silent looks what became of the entry, and leaves if it is still there.
    pub fn break_silence(&mut self, now_ms: f64) {
        if std::mem::take(&mut self.is_silent) {
            self.close(Act::Look, VisitEnd::LeftLine, now_ms);
        }
    }

    fn own_ms(&self, now_ms: f64) -> f64 {
        self.temper.clock.read(now_ms)
    }

    fn close(&mut self, act: Act, end: VisitEnd, at_ms: f64) {
        self.closing = Some(Closing {
            act,
            end,
            at_ms,
            attempts: 0,
        });
    }

    fn end(&mut self, end: VisitEnd, now_ms: f64) {
        self.free_slot(now_ms);
        self.closing = None;
        self.stay = None;
        self.record.end = Some(end);
    }

    fn free_slot(&mut self, now_ms: f64) {
        if let Some((from_ms, until_ms)) = self.record.slot_ms
            && until_ms.is_infinite()
        {
            self.record.slot_ms = Some((from_ms, now_ms.min(self.slot_until_ms).max(from_ms)));
        }
    }

    /// Nothing was sent: the visitor vanishes, wakes, or has the network again.
    fn turn(&mut self, now_ms: f64) {
        if let Conduct::Vanishes { after_ms } = self.temper.conduct
            && now_ms >= self.record.arrived_at_ms + after_ms
        {
            return self.end(VisitEnd::Vanished, now_ms);
        }
        if self.sleep_ms.is_some_and(|(_, until_ms)| now_ms >= until_ms) {
            self.sleep_ms = None;
            self.record.has_come_back = true;
            self.follower.wake(self.own_ms(now_ms), false);
        }
        if self.offline_ms.is_some_and(|(_, until_ms)| now_ms >= until_ms) {
            self.offline_ms = None;
            self.follower.wake(self.own_ms(now_ms), true);
        }
    }

    fn receive_entry(&mut self, act: Act, entry: Box<Entry>, now_ms: f64) {
        if let Some(secret) = entry.visitor.as_ref() {
            self.caller.visitor = Some(secret.reveal().to_owned());
        }
        self.record_entry(&entry, now_ms);
        let kind = act
            .request_kind()
            .unwrap_or(crate::rules::RequestKind::Status { hold_seconds: 0 });
        self.follower.receive_entry(kind, entry, self.own_ms(now_ms));
        self.record_screen(false, now_ms);
        if self.closing.is_some() {
            return self.continue_closing(now_ms);
        }
        self.begin_line(now_ms);
        match self.state() {
            Some(EntryState::Active) => {
                let left_ms = self.follower.entry().and_then(|entry| entry.expires_in_ms);
                let session_ends_ms = left_ms.map(|left_ms| now_ms + milliseconds(left_ms));
                match &mut self.stay {
                    Some(stay) if act == Act::Extend => stay.extend(now_ms, session_ends_ms),
                    Some(_) => {}
                    None => self.stay = Some(StayProgress::new(now_ms, session_ends_ms)),
                }
            }
            // A promotion that a lost server forgot comes again.
            Some(_) => self.send_back(now_ms),
            None => {}
        }
        if self.temper.conduct == Conduct::Fake {
            self.is_silent = true;
        }
        self.end_if_over(None, now_ms);
    }

    /// The silent visitor has learnt that the entry is still there.
    fn continue_closing(&mut self, now_ms: f64) {
        let end = if self.state() == Some(EntryState::Waiting) {
            VisitEnd::LeftLine
        } else {
            VisitEnd::LeftSlot
        };
        self.close(Act::Leave, end, now_ms);
    }

    /// With the first answer, what depends on the time in line is known.
    fn begin_line(&mut self, now_ms: f64) {
        let is_near = self.state() == Some(EntryState::Waiting) && !self.follower.is_far();
        if self.in_line_since_ms.is_none() {
            self.in_line_since_ms = Some(now_ms);
            self.sleep_ms = match self.temper.conduct {
                Conduct::Sleeps { from_ms, until_ms } => Some((now_ms + from_ms, now_ms + until_ms)),
                Conduct::Oversleeps { from_share, by_ms } => {
                    let expected = self
                        .follower
                        .entry()
                        .and_then(|entry| entry.estimated_wait_seconds);
                    let wait_ms = expected.map_or(0.0, |wait| milliseconds(wait.low + wait.high) * 500.0);
                    Some((now_ms + from_share * wait_ms, now_ms + wait_ms + by_ms))
                }
                _ => None,
            };
        }
        if let Conduct::SleepsWhenCalled { for_ms } = self.temper.conduct
            && is_near
            && !self.record.has_come_back
        {
            self.sleep_ms.get_or_insert((now_ms, now_ms + for_ms));
        }
    }

    fn record_id(&mut self) {
        // A visitor with a ticket gets the id with the first answer.
        let Some(id) = &self.caller.visitor else { return };
        let before = self.entered_as.replace(id.clone());
        self.record.changes_of_id += u64::from(before.is_some_and(|before| before != *id));
    }

    fn record_entry(&mut self, entry: &Entry, now_ms: f64) {
        let record = &mut self.record;
        record.is_fast_tracked |= !record.has_entered && entry.state == EntryState::Active;
        record.has_entered = true;
        if record.visits.last() != Some(&entry.visit) {
            record.visits.push(entry.visit);
        }
        record.token.get_or_insert_with(|| entry.token.clone());
        record.place = entry.lane.zip(entry.place).or(record.place);
        record.joined_at_ms = record.joined_at_ms.or(entry.joined_at_ms);
        record.promoted_at_ms = entry.promoted_at_ms.or(record.promoted_at_ms);
        record.claim_by_ms = entry.claim_by_ms.or(record.claim_by_ms);
        if entry.state == EntryState::Ready {
            record.is_promoted = true;
            record.called_at_ms.get_or_insert(now_ms);
        }
        if entry.state == EntryState::Active {
            // A held poll may be answered after another tab has claimed.
            record.is_promoted |= !record.is_fast_tracked;
            record.claimed_at_ms.get_or_insert(now_ms);
        }
        let slot_left_ms = match entry.state {
            EntryState::Ready => entry.claim_in_ms,
            EntryState::Active => entry.expires_in_ms,
            _ => None,
        };
        if matches!(entry.state, EntryState::Ready | EntryState::Active) {
            record.slot_ms.get_or_insert((now_ms, f64::INFINITY));
            self.slot_until_ms = slot_left_ms.map_or(f64::INFINITY, |left_ms| {
                now_ms + milliseconds(left_ms) - SLOT_MARGIN_MS
            });
        } else if entry.state == EntryState::Waiting {
            // The server lost the promotion, and the slot with it.
            self.free_slot(now_ms);
        }
        if self.last.visit != entry.visit {
            self.last = LastPositions {
                visit: entry.visit,
                ..LastPositions::default()
            };
        }
        let has_risen = entry
            .position
            .zip(self.last.answered)
            .is_some_and(|(now, last)| now > last);
        self.record.rises.answered += u64::from(has_risen);
        self.last.answered = entry.position.or(self.last.answered);
    }

    /// Records what the visitor sees after an answer about the entry, or after a newer document.
    fn record_screen(&mut self, is_by_document: bool, now_ms: f64) {
        let is_waiting = self.state() == Some(EntryState::Waiting) && !self.follower.has_ended();
        if !is_waiting || (is_by_document && !self.follower.is_far()) {
            return;
        }
        let own_ms = self.own_ms(now_ms);
        let screen = self.follower.screen(own_ms);
        let computed = self.follower.unclamped_position();
        let rises = &mut self.record.rises;
        let has_risen = |pair: Option<(u64, u64)>| u64::from(pair.is_some_and(|(now, last)| now > last));
        rises.shown += has_risen(screen.position.zip(self.last.shown));
        rises.ahead += has_risen(screen.ahead.zip(self.last.ahead));
        rises.computed += u64::from(
            computed
                .zip(self.last.computed)
                .is_some_and(|(now, last)| now > last),
        );
        self.last.shown = screen.position.or(self.last.shown);
        self.last.ahead = screen.ahead.or(self.last.ahead);
        self.last.computed = computed.or(self.last.computed);
        match screen.estimate {
            Some(range) if self.keeps_estimates => self.record.estimates.push(ShownEstimate {
                at_ms: now_ms,
                low_s: range.low,
                high_s: range.high,
                is_by_document,
            }),
            Some(_) => {}
            None => self.record.unknown_estimates += 1,
        }
    }

    fn receive_done(&mut self, act: Act, now_ms: f64) {
        match (act, self.closing.take()) {
            (_, Some(closing)) => self.end(closing.end, now_ms),
            (Act::Leave, None) if self.state() == Some(EntryState::Waiting) => {
                self.end(VisitEnd::LeftLine, now_ms);
            }
            (Act::Leave, None) => self.end(VisitEnd::LeftSlot, now_ms),
            (Act::Complete, None) => self.end(VisitEnd::Completed, now_ms),
            (Act::Validate, None) => {
                self.record.validations += 1;
                match &mut self.stay {
                    Some(stay) => stay.checked += 1,
                    // The client learns from its next request that the service let the visitor in.
                    None => self.polls_at_once = true,
                }
            }
            _ => {}
        }
    }

    fn receive_refusal(&mut self, act: Act, refusal: &Refusal, now_ms: f64) {
        self.record.failures += 1;
        if act == Act::Enter {
            // A gateway that gave up waiting for the answer of the function knows no more than a client without one.
            self.record.may_have_entered |= refusal.status == 0 || refusal.status >= 500;
        }
        if matches!(act, Act::Leave | Act::Complete) || self.closing.is_some() {
            return self.repeat_closing(act, refusal, now_ms);
        }
        match act {
            Act::Validate | Act::Extend => self.refuse_service(act, refusal, now_ms),
            Act::Look if refusal.status == GONE => {
                if !self.comes_back(refusal, now_ms) {
                    self.end(VisitEnd::NoShow, now_ms);
                }
            }
            Act::Look if !refusal.is_retryable() => self.end(VisitEnd::Lost(refusal.name()), now_ms),
            Act::Look => {}
            _ => {
                let Some(kind) = act.request_kind() else { return };
                self.follower.receive_refusal(kind, refusal, self.own_ms(now_ms));
                self.end_if_over(Some(refusal), now_ms);
            }
        }
    }

    /// A request that ends the visit was not carried out.
    fn repeat_closing(&mut self, act: Act, refusal: &Refusal, now_ms: f64) {
        let closing = self.closing.take();
        let (end, attempts) = closing.map_or_else(
            || (self.end_of(act), 1),
            |closing| (closing.end, closing.attempts + 1),
        );
        if refusal.is_end_of_visit() {
            let is_silent = act == Act::Look;
            return self.end(self.ended_by_server(is_silent, refusal), now_ms);
        }
        if act == Act::Complete && refusal.code == Some(Code::NotYourTurn) {
            return self.send_back(now_ms);
        }
        if !refusal.is_retryable() {
            return self.end(VisitEnd::Lost(refusal.name()), now_ms);
        }
        if attempts >= END_ATTEMPTS {
            return self.end(VisitEnd::Unknown, now_ms);
        }
        self.closing = Some(Closing {
            act: if act == Act::Look { Act::Leave } else { act },
            end,
            at_ms: now_ms + END_PAUSE_MS * f64::from(attempts),
            attempts,
        });
    }

    fn end_of(&self, act: Act) -> VisitEnd {
        match (act, self.state()) {
            (Act::Complete, _) => VisitEnd::Completed,
            (_, Some(EntryState::Waiting)) => VisitEnd::LeftLine,
            _ => VisitEnd::LeftSlot,
        }
    }

    fn ended_by_server(&self, is_silent: bool, refusal: &Refusal) -> VisitEnd {
        match is_silent {
            true if self.record.is_fast_tracked => VisitEnd::SessionExpired,
            true => VisitEnd::Lapsed,
            false => VisitEnd::Lost(refusal.name()),
        }
    }

    fn refuse_service(&mut self, act: Act, refusal: &Refusal, now_ms: f64) {
        if act == Act::Extend {
            if refusal.is_end_of_visit() {
                return self.lose_session(refusal, now_ms);
            }
            if let Some(stay) = &mut self.stay {
                stay.give_up_extending();
            }
        } else if let Some(stay) = &mut self.stay {
            if refusal.is_retryable() {
                stay.checked += 1;
            } else if refusal.code == Some(Code::NotYourTurn) {
                self.send_back(now_ms);
            } else {
                self.lose_session(refusal, now_ms);
            }
        } else {
            self.service_at_ms = now_ms + SERVICE_PAUSE_MS;
            self.polls_at_once = !refusal.is_retryable();
        }
    }

    /// The server has forgotten that the visitor was let in. The service sends the visitor back to the page, which asks at once.
    fn send_back(&mut self, now_ms: f64) {
        if self.stay.take().is_some() {
            self.record.sent_back += 1;
            self.free_slot(now_ms);
            self.polls_at_once = self.state() == Some(EntryState::Active);
        }
    }

    /// Enters again after a missed turn, if the visitor does that.
    fn comes_back(&mut self, refusal: &Refusal, now_ms: f64) -> bool {
        if refusal.code != Some(Code::Expired) || self.returns >= self.temper.returns {
            return false;
        }
        self.returns += 1;
        self.looks = 0;
        self.record.has_come_back = true;
        self.follower.forget_entry(self.own_ms(now_ms));
        true
    }

    fn lose_session(&mut self, refusal: &Refusal, now_ms: f64) {
        let end = match refusal.code {
            Some(Code::Expired) => VisitEnd::SessionExpired,
            _ => VisitEnd::Lost(refusal.name()),
        };
        self.end(end, now_ms);
    }

    /// Ends the visit if the rules say that it is over.
    fn end_if_over(&mut self, refusal: Option<&Refusal>, now_ms: f64) {
        if !self.follower.has_ended() {
            return;
        }
        if self.stay.is_none() && refusal.is_some_and(|refusal| self.comes_back(refusal, now_ms)) {
            return;
        }
        let name = refusal.map_or_else(
            || self.state().map_or("finished", EntryState::name).to_owned(),
            Refusal::name,
        );
        let is_expired = refusal.is_some_and(|refusal| refusal.code == Some(Code::Expired));
        let end =
            if self.follower.screen(self.own_ms(now_ms)).phase == Phase::Failed && !self.record.has_entered {
                VisitEnd::Refused(name)
            } else if self.stay.is_some() && is_expired {
                VisitEnd::SessionExpired
            } else if self.temper.conduct == Conduct::NoShow && self.record.is_promoted {
                VisitEnd::NoShow
            } else {
                VisitEnd::Lost(name)
            };
        self.end(end, now_ms);
    }
}

/// Durations are far below 2^53 milliseconds.
#[allow(clippy::cast_precision_loss)]
fn milliseconds(number: u64) -> f64 {
    number as f64
}
