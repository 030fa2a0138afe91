//! Visitors at a line, a promoter that is not on time, and an operator who turns everything.

mod operator;

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vestibule_domain::{
    change::Event,
    entry_status::EntryStatus,
    estimate::Forecast,
    id::{EntryId, QueueId},
    poll_pacing::retry_after_ms,
    settings::Settings,
};
use vestibule_line::{
    ClaimOutcome, EnterOutcome, EntryLine, EntryLookup, JournalLine, LeaveOutcome, LeaveReason,
    PromotionLine, QueueLine,
};
use vestibule_line_memory::MemoryLine;
use vestibule_tests::lines::{ManualClock, fresh_queue, tick_order, visitor};

pub(crate) const VISITORS: u64 = 10_000;
/// Everybody comes within so long.
const RUSH_MS: u64 = 300_000;
/// How late a poll may be: the answer's way to the visitor and the next request's way back.
const POLL_DELAY_MS: u64 = 2_000;
/// How late the claim may be after the poll that found the turn. With the delay of the poll it stays within the last
/// third of the least `claim_seconds`: 3.3 s.
const CLAIM_DELAY_MS: u64 = 1_200;
/// How old the settings may be by which somebody is told when to come back.
const VIEW_AGE_MS: u64 = 2_000;
/// Nobody waits longer, unless something is wrong.
const END_MS: u64 = 12 * 3_600_000;

/// How visitors come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// At the told moment.
    KeepsToIt,
    /// After one and a half times `claim_seconds`, whatever they are told.
    ComesTooLate,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Enter(u64),
    Poll(u64),
    Claim(u64),
    Finish(u64),
    Tick,
    Settings,
}

pub(crate) struct Simulation {
    manner: Manner,
    pub(crate) line: MemoryLine,
    pub(crate) queue: QueueId,
    clock: ManualClock,
    start_ms: u64,
    settings: Settings,
    /// All that were in force, and from when on.
    in_force: Vec<(u64, Settings)>,
    rng: StdRng,
    agenda: BinaryHeap<Reverse<(u64, u64, Due)>>,
    /// When turns come, and when that was looked up.
    forecast: Option<(u64, Forecast)>,
    /// Numbers what is put on the agenda, so that of one moment the first comes first.
    planned: u64,
    numbers: HashMap<EntryId, u64>,
    pub(crate) entered: Vec<u64>,
    pub(crate) admitted: Vec<u64>,
    pub(crate) done: u64,
    pub(crate) lost: u64,
    pub(crate) polls: u64,
    pub(crate) changes: u64,
    pub(crate) slept_ms_max: u64,
}

impl Simulation {
    pub(crate) async fn new(manner: Manner, seed: u64) -> Self {
        let clock = ManualClock::new();
        let mut simulation = Self {
            manner,
            line: MemoryLine::with_clock(clock.as_clock()),
            queue: fresh_queue(),
            start_ms: clock.now_ms(),
            clock,
            settings: Settings::default(),
            in_force: Vec::new(),
            rng: StdRng::seed_from_u64(seed),
            agenda: BinaryHeap::new(),
            forecast: None,
            planned: 0,
            numbers: HashMap::new(),
            entered: Vec::new(),
            admitted: Vec::new(),
            done: 0,
            lost: 0,
            polls: 0,
            changes: 0,
            slept_ms_max: 0,
        };
        simulation.configure().await;
        for number in 1..=VISITORS {
            simulation.numbers.insert(visitor(number), number);
            let after_ms = simulation.rng.random_range(0..RUSH_MS);
            simulation.plan(after_ms, Due::Enter(number));
        }
        simulation.plan(0, Due::Tick);
        simulation.plan(10_000, Due::Settings);
        simulation
    }

    fn plan(&mut self, after_ms: u64, due: Due) {
        self.planned += 1;
        self.agenda
            .push(Reverse((self.clock.now_ms() + after_ms, self.planned, due)));
    }

    pub(crate) async fn run(&mut self) {
        while self.done + self.lost < VISITORS {
            let Reverse((at_ms, _, due)) = self.agenda.pop().expect("the promoter never ends");
            assert!(
                at_ms - self.start_ms < END_MS,
                "{} of {VISITORS} are served",
                self.done
            );
            self.clock.set_ms(at_ms);
            match due {
                Due::Enter(number) => self.enter(number).await,
                Due::Poll(number) => self.poll(number).await,
                Due::Claim(number) => self.claim(number).await,
                Due::Finish(number) => self.finish(number).await,
                Due::Tick => self.tick().await,
                Due::Settings => self.change_settings().await,
            }
        }
    }

    async fn enter(&mut self, number: u64) {
        let entered = self.line.enter(&self.queue, visitor(number)).await;
        self.entered.push(number);
        match entered.expect("enter") {
            EnterOutcome::Joined {
                status: EntryStatus::Active { .. },
                ..
            } => {
                self.admitted.push(number);
                self.check_capacity().await;
                self.stay(number);
            }
            EnterOutcome::Joined {
                status: EntryStatus::Waiting { position, .. },
                ..
            } => self.come_back(number, position).await,
            other => panic!("{other:?}"),
        }
    }

    async fn poll(&mut self, number: u64) {
        self.polls += 1;
        match self
            .line
            .status(&self.queue, visitor(number))
            .await
            .expect("status")
        {
            EntryLookup::Found(EntryStatus::Waiting { position, .. }) => {
                self.come_back(number, position).await
            }
            EntryLookup::Found(EntryStatus::Ready { .. }) => {
                let after_ms = self.rng.random_range(0..=CLAIM_DELAY_MS);
                self.plan(after_ms, Due::Claim(number));
            }
            EntryLookup::Found(active @ EntryStatus::Active { .. }) => panic!("nobody claimed: {active:?}"),
            EntryLookup::NotFound(_) => self.lost += 1,
        }
    }

    /// The visitor is told when to come back, as a poll would be that is not held.
    async fn come_back(&mut self, number: u64, position: u64) {
        let expected_ms = self.eta_ms(position).await;
        let (jitter, age_ms) = (self.rng.random(), self.rng.random_range(0..=VIEW_AGE_MS));
        let claim_ms = self.claim_ms_before(age_ms);
        let after_ms = match self.manner {
            Manner::KeepsToIt => retry_after_ms(expected_ms, claim_ms, age_ms, jitter),
            Manner::ComesTooLate => self.settings.claim_ms() * 3 / 2,
        };
        self.slept_ms_max = self.slept_ms_max.max(after_ms);
        let delay_ms = self.rng.random_range(0..=POLL_DELAY_MS);
        self.plan(after_ms + delay_ms, Due::Poll(number));
    }

    /// As an environment has it: a second old at most.
    async fn eta_ms(&mut self, position: u64) -> u64 {
        let now_ms = self.clock.now_ms();
        if let Some((at_ms, forecast)) = &self.forecast
            && now_ms < at_ms + 1_000
        {
            return forecast.eta_ms(position);
        }
        let view = self.line.queue_view(&self.queue).await.expect("view");
        let (_, forecast) = self.forecast.insert((now_ms, view.forecast()));
        forecast.eta_ms(position)
    }

    async fn claim(&mut self, number: u64) {
        match self
            .line
            .claim(&self.queue, visitor(number))
            .await
            .expect("claim")
        {
            ClaimOutcome::Active { .. } => self.stay(number),
            ClaimOutcome::StillWaiting(standing) => panic!("it was ready: {standing:?}"),
            ClaimOutcome::NotFound(_) => self.lost += 1,
        }
    }

    fn stay(&mut self, number: u64) {
        let after_ms = self.rng.random_range(1_000..20_000);
        self.plan(after_ms, Due::Finish(number));
    }

    async fn finish(&mut self, number: u64) {
        let departed = self
            .line
            .leave(&self.queue, visitor(number), None, LeaveReason::Complete);
        assert!(matches!(departed.await, Ok(LeaveOutcome::Ended(_))));
        self.done += 1;
    }

    async fn tick(&mut self) {
        let mut promoted = 0;
        loop {
            let tick = self
                .line
                .promote(&self.queue, tick_order(u64::MAX))
                .await
                .expect("promote");
            promoted += tick.promoted;
            if !tick.has_more {
                break;
            }
        }
        if promoted > 0 {
            self.check_capacity().await;
        }
        self.read_journal().await;
        // The promoter is not on time, and at times away.
        let after_ms = match self.rng.random_range(0..50) {
            0 => self.rng.random_range(10_000..60_000),
            _ => self.rng.random_range(200..2_500),
        };
        self.plan(after_ms, Due::Tick);
    }

    async fn check_capacity(&self) {
        let view = self.line.queue_view(&self.queue).await.expect("view");
        assert!(
            view.ready + view.active <= u64::from(self.settings.capacity),
            "{view:?}"
        );
    }

    async fn read_journal(&mut self) {
        let records = self
            .line
            .due_journal_records(&self.queue, 100)
            .await
            .expect("journal");
        let mut keys = Vec::new();
        for record in records {
            let promoted = record
                .changes
                .iter()
                .filter(|change| matches!(change.event, Event::Promoted { .. }));
            self.admitted
                .extend(promoted.map(|change| self.numbers[&change.id]));
            keys.push(record.key);
        }
        self.line
            .acknowledge(&self.queue, &keys, &[])
            .await
            .expect("settle");
    }
}
