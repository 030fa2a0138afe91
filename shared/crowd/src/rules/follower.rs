//! The follower: decides which request to send next and when. `web/client/src/follower.ts`.

use std::sync::Arc;

use vestibule_domain::{estimate::Estimate, queue_state::QueueState, state::EntryState};
use vestibule_wire::{Code, Entry, PublicDocument};

use super::{
    Chance, backoff_ms,
    bounds::{PAUSE_MS_MAX, PAUSE_MS_MIN, POLL_MS_DEFAULT, SPREAD_MS_MAX, as_f64, within},
    document::{
        ahead_of, calls, estimate, is_near_boundary, refresh_bounds_ms, refresh_ms, unclamped_position,
    },
    document_reader::DocumentReader,
    entry::{backoff_bound_ms, failed_pause_ms, is_far_from_head, poll_hold_seconds, poll_ms},
    refusal::Refusal,
    request::{NextRequest, RequestKind},
    resync::Resync,
    screen::{Connection, Phase, Screen},
    shown_position::{LowestPosition, lower_position, shown_position},
};

/// What the visitor sees again after an answer so recent is not asked for again, in milliseconds.
const WAKE_MS_MIN: f64 = 2_000.0;
/// Clients whose network comes back at the same moment do not ask in the same moment: within so many milliseconds.
const RECONNECT_MS_BOUND: f64 = 1_000.0;
/// A visitor enters without the document of a draw's spread if it takes so long, in milliseconds.
const SPREAD_ANSWER_MS: f64 = 1_000.0;

/// What a page of the client is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerOptions {
    /// Whether the client follows the document. If not, it polls at `retry_after_ms`, which is correct too.
    pub reads_documents: bool,
    /// Whether it reads the document before it enters, which spreads the visitors of a draw.
    pub is_spreading: bool,
    /// Whether the visitor sees the page. A hidden page lets the server hold its polls longer, and claims no turn.
    pub is_visible: bool,
}

impl Default for FollowerOptions {
    /// The shipped client in a visible page.
    fn default() -> Self {
        Self {
            reads_documents: true,
            is_spreading: false,
            is_visible: true,
        }
    }
}

/// The follower of one visitor. Times are milliseconds of a monotonic clock of the caller.
#[derive(Debug)]
pub struct Follower {
    options: FollowerOptions,
    chance: Chance,
    reader: DocumentReader,
    resync: Resync,
    phase: Phase,
    /// The token of a stored place, which is asked about first.
    stored_token: Option<String>,
    entry: Option<Box<Entry>>,
    entry_at_ms: f64,
    /// When any answer came, or a request failed.
    heard_at_ms: f64,
    /// When the entry was last asked, also in vain.
    asked_at_ms: f64,
    woken_at_ms: f64,
    lowest: Option<LowestPosition>,
    failures: u32,
    retry_at_ms: f64,
    is_claim_refused: bool,
    /// Whether the gateway refused the last poll near the head.
    is_poll_refused: bool,
    is_spreading: bool,
    /// The status of the last failure, 0 without an answer. `None` after an answer.
    failed_status: Option<u16>,
}

impl Follower {
    /// A visitor who is about to enter.
    pub fn new(options: FollowerOptions, chance: Chance, now_ms: f64) -> Self {
        Self {
            options,
            chance,
            reader: DocumentReader::new(),
            resync: Resync::start(None),
            phase: Phase::Joining,
            stored_token: None,
            entry: None,
            entry_at_ms: now_ms,
            heard_at_ms: f64::NEG_INFINITY,
            asked_at_ms: now_ms,
            woken_at_ms: f64::INFINITY,
            lowest: None,
            failures: 0,
            retry_at_ms: now_ms,
            is_claim_refused: false,
            is_poll_refused: false,
            is_spreading: options.is_spreading,
            failed_status: None,
        }
    }

    /// The visitor joins, or continues with a stored place.
    pub fn join(&mut self, token: Option<String>, now_ms: f64) {
        let lowest = self.lowest.filter(|_| token.is_some());
        self.join_at(token, lowest, now_ms);
    }

    /// The page was loaded again, or another tab has stored the place: the visitor continues with it, and with its
    /// [lowest position](Self::lowest).
    pub fn join_stored(&mut self, token: String, lowest: Option<LowestPosition>, now_ms: f64) {
        self.join_at(Some(token), lowest, now_ms);
    }

    fn join_at(&mut self, token: Option<String>, lowest: Option<LowestPosition>, now_ms: f64) {
        self.phase = Phase::Joining;
        self.stored_token = token;
        self.lowest = lowest;
        self.retry_at_ms = now_ms;
    }

    /// The visitor goes on as another account, or enters again, and joins next. What is known of the queue stays.
    pub fn forget_entry(&mut self, now_ms: f64) {
        self.set_entry(None, self.entry_at_ms);
        self.join(None, now_ms);
    }

    /// The document is asked for before entering. To enter early does no harm before a draw, and to enter late elsewhere does.
    pub fn ask_spread(&mut self, now_ms: f64) {
        self.is_spreading = false;
        self.retry_at_ms = now_ms + SPREAD_ANSWER_MS;
    }

    /// The device may have slept, so what is shown may be old. `is_reconnected`: the network is back. Returns whether the next
    /// request is due sooner.
    pub fn wake(&mut self, now_ms: f64, is_reconnected: bool) -> bool {
        // If the server has answered with a failure, its Retry-After counts for all who reconnect together.
        let can_ask = if is_reconnected {
            self.failed_status.is_none_or(|status| status == 0)
        } else {
            self.failed_status.is_some() || self.phase == Phase::Joined
        };
        let is_recent =
            now_ms - self.heard_at_ms < WAKE_MS_MIN && !(is_reconnected && self.failed_status.is_some());
        if !can_ask || is_recent {
            return false;
        }
        let spread_ms = if is_reconnected {
            self.chance.draw() * RECONNECT_MS_BOUND
        } else {
            0.0
        };
        let at_ms = now_ms + spread_ms;
        self.woken_at_ms = at_ms;
        self.retry_at_ms = self.retry_at_ms.min(at_ms);
        self.reader.expedite(at_ms);
        true
    }

    /// The server has answered a request about the entry.
    pub fn receive_entry(&mut self, kind: RequestKind, entry: Box<Entry>, now_ms: f64) {
        self.heard_at_ms = now_ms;
        let was_far = self.is_far();
        // With another token the queue was reset, and positions begin anew.
        let is_known = self.token() == Some(entry.token.as_str());
        self.set_entry(Some(entry), now_ms);
        self.phase = Phase::Joined;
        let Some(entry) = &self.entry else { return };
        if !entry.state.is_live() {
            return self.end_with(Some(entry.state), now_ms);
        }
        let lowest = self.lowest.filter(|_| is_known);
        self.lowest = lower_position(lowest, entry.visit, entry.position);
        self.stored_token = None;
        // A claim that changes nothing is not repeated at once.
        if entry.state == EntryState::Ready && kind == RequestKind::Claim {
            self.retry_at_ms = now_ms + POLL_MS_DEFAULT;
        }
        if self.is_far() {
            if !was_far {
                self.reader.start(now_ms);
            }
            let refresh_ms = self.refresh_ms(now_ms);
            self.reader
                .schedule_after_entry(refresh_ms, now_ms, &mut self.chance);
        }
    }

    /// A cache or the server has answered with the public document. Returns whether it is newer than the ones before.
    pub fn receive_document(&mut self, document: &Arc<PublicDocument>, now_ms: f64) -> bool {
        self.heard_at_ms = now_ms;
        self.enter_after(document.enter_spread_ms.map_or(0.0, as_f64), now_ms);
        let is_newer = self.reader.receive(document.clone(), now_ms);
        if is_newer && self.is_far() {
            // A called entry may have had its turn before the end, so the server is asked about it.
            if document.state == QueueState::Finished && !self.is_called_since_answer() {
                self.end_with(None, now_ms);
                return true;
            }
            let is_comparable = self.resync.compare(document, now_ms, &mut self.chance);
            if let Some(entry) = self.entry.as_ref().filter(|_| is_comparable) {
                let position = unclamped_position(document, entry).map(|position| position.max(1));
                let position = position.and_then(|position| u64::try_from(position).ok());
                let shown = self.shown_position();
                let position = position.filter(|_| shown.is_some());
                self.lowest = lower_position(self.lowest, entry.visit, position);
            }
        }
        let refresh_ms = self.refresh_ms(now_ms);
        self.reader.schedule(refresh_ms, now_ms, &mut self.chance);
        is_newer
    }

    /// A request failed, or was refused.
    pub fn receive_refusal(&mut self, kind: RequestKind, refusal: &Refusal, now_ms: f64) {
        self.heard_at_ms = now_ms;
        // The document of a finished queue is no failure, so a document fails with such a code only if the queue is gone.
        if refusal.is_end_of_queue() {
            return self.end_with(None, now_ms);
        }
        // A late document costs no turn.
        if kind == RequestKind::Document {
            if self.entry.is_none() {
                return self.enter_after(0.0, now_ms);
            }
            return self
                .reader
                .postpone(now_ms, refusal.retry_after_ms, &mut self.chance);
        }
        let is_status = matches!(kind, RequestKind::Status { .. });
        let waits = self
            .entry
            .as_ref()
            .is_some_and(|entry| entry.state == EntryState::Waiting);
        self.is_poll_refused = is_status && refusal.status == 429 && waits && !self.is_far();
        let is_end = refusal.is_end_of_visit();
        // In line it may be the route of another server, and the place is kept.
        let is_refused =
            refusal.is_final() || (kind == RequestKind::Enter && refusal.code == Some(Code::UnknownRoute));
        if is_status && self.phase == Phase::Joining && (is_end || is_refused) {
            // The stored token is of no use, so the client enters again.
            return self.join(None, now_ms);
        }
        if kind != RequestKind::Enter && is_end {
            return self.end_by(refusal, now_ms);
        }
        self.is_claim_refused = refusal.code == Some(Code::NotYourTurn);
        if self.is_claim_refused {
            // The entry is no longer ready. The next status request shows its state.
            self.retry_at_ms = now_ms + POLL_MS_DEFAULT;
            return;
        }
        if is_refused || is_end {
            // The place of a queue that was reset is lost, even if the visitor cannot enter again.
            if self.resync.is_reset {
                self.set_entry(None, now_ms);
            }
            self.phase = Phase::Failed;
        } else {
            self.back_off(refusal.retry_after_ms, now_ms);
        }
        self.failed_status = Some(refusal.status);
    }

    /// The client goes on, whatever a proxy answers: only the server ends or refuses a visit, by its codes.
    fn back_off(&mut self, retry_after_ms: f64, now_ms: f64) {
        let entry = self.entry();
        let (bound_ms, pause_ms) = (backoff_bound_ms(entry), failed_pause_ms(entry, retry_after_ms));
        self.retry_at_ms = now_ms + backoff_ms(pause_ms, self.failures, bound_ms, &mut self.chance);
        self.failures += 1;
        // Far from the head the place is kept, and after an outage a whole line must not come back at once.
        if self.is_far() && !self.is_near_boundary() {
            self.asked_at_ms = now_ms;
        }
    }

    /// The next request. Only an event changes it, and the passing of time is none. It does not count once the visit
    /// [has ended](Self::has_ended).
    pub fn next_request(&self) -> NextRequest {
        let at_retry = |kind| NextRequest {
            kind,
            at_ms: self.retry_at_ms,
        };
        let Some(entry) = &self.entry else {
            return at_retry(match (&self.stored_token, self.is_spreading) {
                (Some(_), _) => RequestKind::Status { hold_seconds: 0 },
                (None, true) => RequestKind::Document,
                (None, false) => RequestKind::Enter,
            });
        };
        if self.resync.is_reset {
            let at_ms = self.resync.due_ms.max(self.retry_at_ms);
            return NextRequest {
                kind: RequestKind::Enter,
                at_ms,
            };
        }
        // While the gateway refuses polls, a claim finds out whether the turn has come: its route has a limit of its own.
        let can_claim = entry.state == EntryState::Ready || self.is_poll_refused;
        if can_claim && self.options.is_visible && !self.is_claim_refused {
            return at_retry(RequestKind::Claim);
        }
        if !self.is_far() {
            return self.status_request(entry, self.poll_at_ms(entry));
        }
        let look_at_ms = self.look_at_ms(entry).max(self.retry_at_ms);
        // Both would tell the same, so one request is enough.
        if look_at_ms <= self.reader.due_ms {
            self.status_request(entry, look_at_ms)
        } else {
            NextRequest {
                kind: RequestKind::Document,
                at_ms: self.reader.due_ms,
            }
        }
    }

    /// Whether the visit has ended or was refused. Then no request counts.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended | Phase::Failed)
    }

    /// The last answer about the entry. When the visit ends, the entry stays with its last state.
    pub fn entry(&self) -> Option<&Entry> {
        self.entry.as_deref()
    }

    /// When the last answer about the entry came, or the visit ended.
    pub fn entry_at_ms(&self) -> f64 {
        self.entry_at_ms
    }

    /// The token of the entry, or that of a stored place.
    pub fn token(&self) -> Option<&str> {
        let of_entry = self.entry.as_deref().map(|entry| entry.token.as_str());
        of_entry.or(self.stored_token.as_deref())
    }

    /// What the visitor sees at a time.
    pub fn screen(&self, now_ms: f64) -> Screen {
        let state = self.entry.as_deref().map(|entry| entry.state);
        let is_following = self.phase == Phase::Joined && self.is_far();
        let position = self.shown_position();
        let newer = self.newer_document().filter(|_| is_following);
        let told = self.entry.as_deref().zip(position);
        let ahead = told.map(|(entry, position)| ahead_of(entry, position, newer));
        let is_stale = is_following && now_ms >= self.reader.stale_at_ms(self.entry_at_ms);
        Screen {
            phase: self.phase,
            state,
            position,
            ahead: ahead.map(|(ahead, _)| ahead),
            is_ahead_expected: ahead.is_some_and(|(_, is_expected)| is_expected),
            estimate: self.shown_estimate(now_ms),
            is_called: self.phase != Phase::Ended
                && state == Some(EntryState::Waiting)
                && (!is_following || self.is_called_since_answer()),
            connection: match (self.failed_status, is_stale) {
                (Some(_), _) if !self.has_ended() => Connection::Retrying,
                (_, true) => Connection::Stale,
                _ => Connection::Online,
            },
        }
    }

    /// The lowest position so far in the visit, which the visitor sees. `None` if the entry does not wait, or if the last answer
    /// has no position: that came from the backup, while the line could not be read.
    pub fn shown_position(&self) -> Option<u64> {
        shown_position(self.lowest, self.entry.as_deref())
    }

    /// The visit and the lowest position that was shown, for a reload. `None` if none was shown, or once the visit has ended.
    pub fn lowest(&self) -> Option<LowestPosition> {
        self.lowest
    }

    /// The position of the last answer or, for a far entry, that of a newer document. Unlike the shown position it may
    /// rise. `None` if the entry does not wait.
    pub fn unclamped_position(&self) -> Option<i64> {
        let entry = self
            .entry
            .as_ref()
            .filter(|entry| entry.state == EntryState::Waiting)?;
        let by_document = self.newer_document().filter(|_| self.is_far());
        by_document
            .and_then(|document| unclamped_position(document, entry))
            .or_else(|| i64::try_from(entry.position?).ok())
    }

    /// The expected wait that the visitor sees.
    pub fn shown_estimate(&self, now_ms: f64) -> Option<Estimate> {
        // A queue that is over tells no waits. The entry has its last state.
        if self.phase == Phase::Ended {
            return None;
        }
        let newer = self.newer_document();
        let age_ms = newer.map_or(now_ms - self.entry_at_ms, |document| {
            self.reader.age_ms(document, now_ms)
        });
        estimate(self.entry.as_deref()?, self.shown_position(), newer, age_ms)
    }

    /// The newest document, if it came after the last answer about the entry.
    pub fn newer_document(&self) -> Option<&PublicDocument> {
        self.reader.newest_since_answer()
    }

    /// Whether the visitor follows the document.
    pub fn is_far(&self) -> bool {
        self.options.reads_documents && self.entry.as_deref().is_some_and(is_far_from_head)
    }

    fn status_request(&self, entry: &Entry, at_ms: f64) -> NextRequest {
        let can_be_held = !self.is_far() || self.is_called_since_answer();
        let hold_seconds = if can_be_held {
            poll_hold_seconds(entry, self.options.is_visible)
        } else {
            0
        };
        NextRequest {
            kind: RequestKind::Status { hold_seconds },
            at_ms,
        }
    }

    fn poll_at_ms(&self, entry: &Entry) -> f64 {
        if self.failures > 0 || self.is_claim_refused {
            self.retry_at_ms
        } else {
            self.woken_at_ms.min(self.entry_at_ms + poll_ms(entry))
        }
    }

    /// When to ask an entry that was far from the head in the last answer.
    fn look_at_ms(&self, entry: &Entry) -> f64 {
        let (near_ms, _) = refresh_bounds_ms(self.reader.newest.as_deref());
        let look_after_ms = entry.look_after_ms.map_or(0.0, as_f64);
        let mut at_ms = self.asked_at_ms + within(look_after_ms, PAUSE_MS_MIN, SPREAD_MS_MAX);
        at_ms = at_ms.min(self.resync.due_ms);
        // If answer and document contradict each other, the client asks each as often as it reads the document.
        if self.is_called_since_answer() {
            at_ms = at_ms.min(self.reader.received_at_ms.max(self.entry_at_ms + near_ms));
        }
        // Without documents only the next visitors must ask, so that the outage of a cache does not overload the server.
        if self.is_near_boundary() {
            let stale_at_ms = self.reader.stale_at_ms(f64::NEG_INFINITY);
            at_ms = at_ms.min(stale_at_ms.max(self.poll_at_ms(entry)));
        }
        at_ms
    }

    /// Whether a newer document than the last answer calls the entry.
    fn is_called_since_answer(&self) -> bool {
        let called = self.entry.as_deref().zip(self.newer_document());
        called.is_some_and(|(entry, document)| calls(document, entry))
    }

    fn is_near_boundary(&self) -> bool {
        let newest = self.reader.newest.as_deref();
        let entry = self.entry();
        entry.is_some_and(|entry| is_near_boundary(entry, self.shown_position(), newest))
    }

    fn refresh_ms(&self, now_ms: f64) -> f64 {
        let newest = self.reader.newest.as_deref();
        refresh_ms(
            self.entry.as_deref(),
            now_ms - self.entry_at_ms,
            self.shown_position(),
            newest,
        )
    }

    /// The order of entering does not count before a draw, so a crowd enters over a time.
    fn enter_after(&mut self, spread_ms: f64, now_ms: f64) {
        // A late document ends no backoff.
        let is_late = !self.is_spreading && now_ms >= self.retry_at_ms;
        if self.entry.is_some() || self.failures > 0 || is_late {
            return;
        }
        self.is_spreading = false;
        self.retry_at_ms = now_ms + self.chance.draw() * within(spread_ms, 0.0, PAUSE_MS_MAX);
    }

    fn set_entry(&mut self, entry: Option<Box<Entry>>, now_ms: f64) {
        self.entry = entry;
        (self.entry_at_ms, self.asked_at_ms, self.retry_at_ms) = (now_ms, now_ms, now_ms);
        self.woken_at_ms = f64::INFINITY;
        self.failures = 0;
        (self.is_claim_refused, self.is_poll_refused) = (false, false);
        self.failed_status = None;
        self.reader.mark_answer();
        self.resync = Resync::start(self.reader.newest.clone());
    }

    /// Ends the visit with a state. Without one the queue is over, and the entry keeps its last state.
    fn end_with(&mut self, state: Option<EntryState>, now_ms: f64) {
        let mut ended = self.entry.take();
        if let Some(entry) = &mut ended {
            entry.state = state.unwrap_or(entry.state);
            entry.pass = None;
        }
        self.set_entry(ended, now_ms);
        (self.phase, self.lowest, self.stored_token) = (Phase::Ended, None, None);
    }

    /// Ends the visit with a state, or forgets the entry if the server does not know it.
    fn end_by(&mut self, refusal: &Refusal, now_ms: f64) {
        if refusal.status == 410 {
            return self.end_with(Some(refusal.ended_state()), now_ms);
        }
        self.set_entry(None, now_ms);
        (self.phase, self.lowest, self.stored_token) = (Phase::Failed, None, None);
        self.failed_status = Some(refusal.status);
    }
}
