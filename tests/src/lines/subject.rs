//! The queue under test: one queue on one line, with a clock that a test moves by hand.

mod journal;

use std::time::Duration;

use vestibule_domain::{
    change::Change,
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    lane::Lane,
    score::WaitScore,
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{
    Arrival, ClaimOutcome, ConfigureOutcome, EnterOutcome, EntryLookup, JoinKind, JournalLimits,
    LeaveOutcome, LeaveReason, Line, LineError, NotFound, OperatorView, Promotion,
};

use super::{Backend, ManualClock, configuration, fresh_queue, tick_order, visitor};

/// How often a visitor of a crowd enters until Redis answers in time. A busy machine stalls it for longer than a
/// command may take.
const ENTER_ATTEMPTS_MAX: u32 = 10;

/// The queue under test, its line, and the clock that both use.
pub struct Subject {
    /// The line under test.
    pub line: Line,
    /// The id of the queue.
    pub queue: QueueId,
    /// The clock of the line and of its callers.
    pub clock: ManualClock,
    /// The current settings.
    pub settings: Settings,
}

impl Subject {
    /// A subject whose queue does not exist yet.
    pub async fn new(backend: Backend) -> Self {
        let clock = ManualClock::new();
        let line = backend.connect_to_server().await;
        Self {
            line: line
                .with_given_time(clock.as_server_clock())
                .with_witness(clock.as_clock()),
            queue: fresh_queue(),
            clock,
            settings: Settings::default(),
        }
    }

    /// Another queue of the same clock, on a line with these journal limits. It does not exist yet.
    #[must_use]
    pub fn with_journal_limits(&self, limits: JournalLimits) -> Self {
        Self {
            line: self.line.clone().with_journal_limits(limits),
            ..self.sibling()
        }
    }

    /// Another queue of the same line and clock, created with these settings.
    pub async fn open_sibling(&self, settings: Settings) -> Self {
        let mut other = self.sibling();
        other.open(settings).await;
        other
    }

    /// Another queue of the same line and clock. It does not exist yet.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self {
            line: self.line.clone(),
            queue: fresh_queue(),
            clock: self.clock.clone(),
            settings: Settings::default(),
        }
    }

    /// The same queue as a caller sees it whose clock is wrong by this much.
    #[must_use]
    pub fn with_caller_clock_off_by_ms(&self, ms: i64) -> Self {
        let witness = self.clock.as_clock_off_by_ms(ms);
        Self {
            line: self.line.clone().with_witness(witness),
            queue: self.queue.clone(),
            clock: self.clock.clone(),
            settings: self.settings.clone(),
        }
    }

    /// Creates the queue.
    pub async fn open(&mut self, settings: Settings) {
        self.settings = settings;
        let configured = self
            .line
            .configure(&self.queue, &configuration(&self.settings), true)
            .await;
        assert_eq!(configured.expect("configure"), ConfigureOutcome::Created);
    }

    /// Changes the settings as an operator does.
    pub async fn change_settings(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
        let configured = self
            .line
            .configure(&self.queue, &configuration(&self.settings), false)
            .await;
        assert_eq!(configured.expect("configure"), ConfigureOutcome::Changed);
    }

    /// Moves the clock forward.
    pub fn advance_ms(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
    }

    /// Moves the clock forward.
    pub fn advance_seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Enters, and polls at once if the visitor waits, as each client does. The visitor gets a new place or keeps the old
    /// one.
    pub async fn enter(&self, id: EntryId) -> JoinedEntry {
        let joined = self.enter_silently(id).await;
        self.poll_at_once(id, &joined).await;
        joined
    }

    async fn poll_at_once(&self, id: EntryId, joined: &JoinedEntry) {
        if joined.status.state() == EntryState::Waiting && self.settings.has_presence() {
            // A server that fails here also fails the test's next call.
            self.line.check_in(&self.queue, id).await.ok();
        }
    }

    /// Enters as a visitor who never polls.
    pub async fn enter_silently(&self, id: EntryId) -> JoinedEntry {
        match self
            .line
            .enter(&self.queue, id, Arrival::Ordinary)
            .await
            .expect("enter")
        {
            EnterOutcome::Joined { kind, status, change } => JoinedEntry { kind, status, change },
            refused @ EnterOutcome::Refused(_) => panic!("{refused:?}"),
        }
    }

    /// Enters a lane, and waits there.
    pub async fn enter_lane(&self, id: EntryId, lane: u8) -> JoinedEntry {
        let lane = Lane::new(lane.into()).expect("a lane");
        let entered = self
            .line
            .enter_lane(&self.queue, id, Arrival::Ordinary, None, lane)
            .await;
        let joined = match entered.expect("enter") {
            EnterOutcome::Joined { kind, status, change } => JoinedEntry { kind, status, change },
            refused @ EnterOutcome::Refused(_) => panic!("{refused:?}"),
        };
        self.poll_at_once(id, &joined).await;
        joined
    }

    /// Lets these visitors enter in this order, and poll at once. All of them wait: the queue is paused meanwhile, so that
    /// no one takes the fast track. The clock does not move.
    pub async fn line_up(&mut self, visitors: impl IntoIterator<Item = u64> + Clone) {
        self.line_up_silently(visitors.clone()).await;
        if self.settings.has_presence() {
            for number in visitors {
                self.line.check_in(&self.queue, visitor(number)).await.ok();
            }
        }
    }

    /// The same for visitors who never poll.
    pub async fn line_up_silently(&mut self, visitors: impl IntoIterator<Item = u64>) {
        self.change_settings(|settings| settings.paused = true).await;
        for number in visitors {
            let place = self.enter_repeatedly(visitor(number)).await;
            assert_eq!(place.status.state(), EntryState::Waiting, "visitor {number}");
        }
        self.change_settings(|settings| settings.paused = false).await;
    }

    /// Enters as a client does: if Redis did not answer in time, it enters again.
    async fn enter_repeatedly(&self, id: EntryId) -> JoinedEntry {
        for _ in 1..ENTER_ATTEMPTS_MAX {
            match self.line.enter(&self.queue, id, Arrival::Ordinary).await {
                Ok(EnterOutcome::Joined { kind, status, change }) => {
                    return JoinedEntry { kind, status, change };
                }
                Err(LineError::Unavailable(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        self.enter_silently(id).await
    }

    /// Runs one tick of the promoter.
    pub async fn tick(&self) -> Promotion {
        self.line
            .promote(&self.queue, tick_order(u64::MAX))
            .await
            .expect("promote")
    }

    /// Looks up the status of an entry.
    pub async fn lookup(&self, id: EntryId) -> EntryLookup {
        self.line.status(&self.queue, id).await.expect("status")
    }

    /// The status of an entry that is in the line.
    pub async fn status(&self, id: EntryId) -> EntryStatus {
        match self.lookup(id).await {
            EntryLookup::Found(status) => status,
            gone @ EntryLookup::NotFound(_) => panic!("{gone:?}"),
        }
    }

    /// The state of an entry that is in the line.
    pub async fn state(&self, id: EntryId) -> EntryState {
        self.status(id).await.state()
    }

    /// The position of a waiting entry.
    pub async fn position(&self, id: EntryId) -> u64 {
        match self.status(id).await {
            EntryStatus::Waiting { position, .. } => position,
            other => panic!("not waiting: {other:?}"),
        }
    }

    /// The place of a waiting entry.
    pub async fn place(&self, id: EntryId) -> WaitScore {
        match self.status(id).await {
            EntryStatus::Waiting { score, .. } => score,
            other => panic!("not waiting: {other:?}"),
        }
    }

    /// Why an entry is not in the line.
    pub async fn expect_not_found(&self, id: EntryId) -> NotFound {
        match self.lookup(id).await {
            EntryLookup::NotFound(missing) => missing,
            here @ EntryLookup::Found(_) => panic!("{here:?}"),
        }
    }

    /// Claims the turn of a ready entry and returns the status and the change.
    pub async fn claim(&self, id: EntryId) -> (EntryStatus, Change) {
        match self.line.claim(&self.queue, id).await.expect("claim") {
            ClaimOutcome::Active { status, change } => (status, change),
            other => panic!("the claim failed: {other:?}"),
        }
    }

    /// Ends the current visit of an entry.
    pub async fn leave(&self, id: EntryId, departure: LeaveReason) -> Change {
        match self
            .line
            .leave(&self.queue, id, None, departure)
            .await
            .expect("leave")
        {
            LeaveOutcome::Ended(change) => change,
            other => panic!("the visit did not end: {other:?}"),
        }
    }

    /// The state of the queue.
    pub async fn view(&self) -> OperatorView {
        self.line.queue_view(&self.queue).await.expect("view")
    }
}

/// The result of entering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedEntry {
    /// Whether the visitor got a new place or kept the old one.
    pub kind: JoinKind,
    /// The status of the entry.
    pub status: EntryStatus,
    /// The change to write to the backup.
    pub change: Option<Change>,
}
