//! Sends a crowd through a door: each visitor at its time, and at the end those who are silent are taken out of the line.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::{StreamExt, stream};
use tokio::{
    sync::SemaphorePermit,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use crate::{
    act::{Act, send},
    connections::ConnectionLimit,
    door::{Caller, Door, ProtectedService},
    ledger::Ledger,
    record::VisitRecord,
    rules::{Chance, Refusal},
    stop::StopSignal,
    temper::Temper,
    visitor::{Stage, Visitor},
};

/// So many silent visits are ended at once.
const ENDED_AT_ONCE: usize = 32;

/// Unix time that never goes back.
#[derive(Debug, Clone, Copy)]
pub struct CrowdClock {
    began_at: Instant,
    began_ms: f64,
}

impl CrowdClock {
    /// A clock that agrees now with that of the machine.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            began_at: Instant::now(),
            began_ms: since_1970.as_secs_f64() * 1_000.0,
        }
    }

    /// The time, in Unix milliseconds.
    pub fn now_ms(&self) -> f64 {
        self.began_ms + self.began_at.elapsed().as_secs_f64() * 1_000.0
    }

    /// The moment of a time, at most a year ahead.
    pub fn moment(&self, unix_ms: f64) -> Instant {
        const YEAR_S: f64 = 31_536_000.0;
        let after_s = ((unix_ms - self.began_ms) / 1_000.0).clamp(0.0, YEAR_S);
        self.began_at + Duration::from_secs_f64(after_s)
    }
}

/// One visitor of a crowd.
#[derive(Debug, Clone)]
pub struct PlannedVisit {
    /// When the visitor arrives, from the start of the crowd.
    pub arrives_after: Duration,
    /// Who it is.
    pub caller: Caller,
    /// How it behaves.
    pub temper: Temper,
    /// The seed of its client's random numbers.
    pub seed: u64,
}

/// What watches a crowd.
pub trait Observer: Send + Sync {
    /// A visitor arrives in a stage, from another one or from outside.
    fn change_stage(&self, _from: Option<Stage>, _to: Stage) {}

    /// A request was answered, or refused, after so long.
    fn record_request(&self, _act: Act, _latency: Duration, _refusal: Option<&Refusal>) {}
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// What all visitors of a crowd share.
#[derive(Debug)]
pub struct Crowd<D, O = Unobserved> {
    /// The way to the API.
    pub door: D,
    /// The requests.
    pub ledger: Arc<Ledger>,
    /// What watches the crowd.
    pub observer: O,
    /// Ends the crowd.
    pub stop: StopSignal,
    /// The clock of this machine.
    pub clock: CrowdClock,
    /// Whether records keep the estimates that were shown.
    pub keeps_estimates: bool,
    /// The connections, if their number is bounded. The time for which a request waits for one is not part of its latency.
    pub limit: Option<ConnectionLimit>,
}

/// What a crowd left behind.
#[derive(Debug)]
pub struct CrowdOutcome {
    /// A record of each visitor who arrived.
    pub records: Vec<VisitRecord>,
    /// How many visits could not be followed, by a fault of this program.
    pub faults: u64,
}

impl<D> Crowd<D> {
    /// A crowd that nothing watches or stops.
    pub fn new(door: D) -> Self {
        Self {
            door,
            ledger: Arc::default(),
            observer: Unobserved,
            stop: StopSignal::never(),
            clock: CrowdClock::start(),
            keeps_estimates: false,
            limit: None,
        }
    }
}

impl<D: Door + ProtectedService + 'static, O: Observer + 'static> Crowd<D, O> {
    /// Sends visitors, in the order of their arrivals, and waits until every visit has ended. A stop ends all of them early.
    pub async fn send(self: &Arc<Self>, visits: impl IntoIterator<Item = PlannedVisit>) -> CrowdOutcome {
        let began_at = Instant::now();
        let mut stop = self.stop.clone();
        let mut tasks = JoinSet::new();
        for visit in visits {
            tokio::select! {
                biased;
                () = stop.wait() => break,
                () = sleep_until(began_at + visit.arrives_after) => {}
            }
            for tab in 0..u64::from(visit.temper.tabs.max(1)) {
                let mut visit = visit.clone();
                visit.seed = visit.seed.wrapping_add(tab);
                let crowd = self.clone();
                tasks.spawn(async move { crowd.run(visit).await });
            }
        }
        let (mut records, mut silent, mut faults) = (Vec::new(), Vec::new(), 0);
        while let Some(finished) = tasks.join_next().await {
            match finished {
                Ok(visitor) if visitor.is_silent() => silent.push(visitor),
                Ok(visitor) => records.push(visitor.record),
                Err(_) => faults += 1,
            }
        }
        let ends = silent.into_iter().map(|mut visitor| async move {
            visitor.break_silence(self.clock.now_ms());
            self.follow(&mut visitor).await;
            visitor.record
        });
        records.extend(
            stream::iter(ends)
                .buffer_unordered(ENDED_AT_ONCE)
                .collect::<Vec<_>>()
                .await,
        );
        CrowdOutcome { records, faults }
    }

    /// Runs the visit of a visitor who arrives now, until it has ended or the visitor is silent.
    pub async fn run(&self, visit: PlannedVisit) -> Visitor {
        let mut visitor = self.arrive(visit.caller, visit.temper, visit.seed);
        self.follow(&mut visitor).await;
        visitor
    }

    /// A visitor who arrives now.
    pub fn arrive(&self, caller: Caller, temper: Temper, seed: u64) -> Visitor {
        let mut visitor = Visitor::new(caller, temper, Chance::of_seed(seed), self.clock.now_ms());
        visitor.keeps_estimates = self.keeps_estimates;
        self.observer.change_stage(None, visitor.stage());
        visitor
    }

    /// Follows a visit until it has ended or the visitor is silent.
    pub async fn follow(&self, visitor: &mut Visitor) {
        while self.step(visitor).await.is_some() {}
    }

    /// Waits for what the visitor does next, sends it, and takes the answer. `None` once the visit has ended or the visitor is
    /// silent.
    pub async fn step(&self, visitor: &mut Visitor) -> Option<Act> {
        let due = visitor.next()?;
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            () = sleep_until(self.clock.moment(due.at_ms)) => {}
            () = stop.wait() => {
                let from = visitor.stage();
                visitor.stop(self.clock.now_ms());
                self.observe(from, visitor);
                let due = visitor.next()?;
                // A request that ends the visit may have a pause before it is repeated.
                sleep_until(self.clock.moment(due.at_ms)).await;
                return Some(self.perform(visitor, due.act).await);
            }
        }
        Some(self.perform(visitor, due.act).await)
    }

    async fn perform(&self, visitor: &mut Visitor, act: Act) -> Act {
        let from = visitor.stage();
        let _connection = self.connect(act).await;
        let began_at = Instant::now();
        visitor.send(act, self.clock.now_ms());
        let outcome = if visitor.is_cut_off(self.clock.now_ms()) {
            Err(Refusal::NO_ANSWER)
        } else {
            send(&self.door, act, &visitor.caller, visitor.token(), visitor.visit()).await
        };
        if act != Act::Turn {
            let (latency, refusal) = (began_at.elapsed(), outcome.as_ref().err());
            let name = refusal.map(Refusal::name);
            self.ledger.record(act, latency, name.as_deref());
            self.observer.record_request(act, latency, refusal);
        }
        visitor.receive(act, outcome, self.clock.now_ms());
        self.observe(from, visitor);
        act
    }

    async fn connect(&self, act: Act) -> Option<SemaphorePermit<'_>> {
        let limit = self.limit.as_ref().filter(|_| act != Act::Turn)?;
        let queued_at = Instant::now();
        let connection = limit.acquire(act).await;
        self.ledger.record_queueing(queued_at.elapsed());
        connection
    }

    fn observe(&self, from: Stage, visitor: &Visitor) {
        let to = visitor.stage();
        if from != to {
            self.observer.change_stage(Some(from), to);
        }
    }
}
