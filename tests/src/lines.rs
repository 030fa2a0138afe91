//! The lines under test: each kind of line, a clock that a test moves by hand, and a queue of its own for every test.

// A harness stops the test where it cannot go on.
#![allow(clippy::missing_panics_doc)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{Client, aio::MultiplexedConnection};
use uuid::{Builder, Uuid};
use vestibule::{
    domain::{
        change::{Change, Ending},
        id::{EntryId, QueueId, Salt},
        settings::Settings,
        standing::Standing,
        state::State,
    },
    line::{
        Claimed, Configuration, Configured, Departed, Departure, Entered, Joining, JournalLimits,
        JournalRecord, Line, Look, Missing, PromoteOrder, Promotion, View,
        memory::{Clock, MemoryLine},
        redis::RedisLine,
    },
};

use crate::{
    cluster::Cluster,
    servers::{self, url},
};

/// When a [`HandClock`] starts: 2026-09-01T00:00:00Z and a bit, in Unix microseconds.
const START_US: u64 = 1_788_220_800_123_456;

/// The lines that ship, each on the servers that it is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// In this process.
    Memory,
    /// Redis 7.
    Redis,
    /// Valkey.
    Valkey,
    /// Redis in a cluster of three primaries and three replicas, by TLS, which refuses a script that touches a foreign slot.
    Cluster,
}

impl Backend {
    /// A line by the given clock; by its own where there is none.
    pub async fn line(self, clock: Option<Clock>) -> Arc<dyn Line> {
        self.line_of(clock, JournalLimits::default()).await
    }

    /// The same with a journal that holds so much.
    pub async fn line_of(self, clock: Option<Clock>, limits: JournalLimits) -> Arc<dyn Line> {
        if self == Self::Memory {
            let line = clock.map_or_else(MemoryLine::new, MemoryLine::with_clock);
            return Arc::new(line.with_journal_limits(limits));
        }
        let line = RedisLine::connect(&self.url()).await.expect("the server answers");
        let line = line.with_journal_limits(limits);
        match clock {
            Some(clock) => Arc::new(line.with_given_time(clock)),
            None => Arc::new(line),
        }
    }

    /// Where its server is.
    pub fn url(self) -> String {
        match self {
            Self::Memory => panic!("the line in memory has no server"),
            Self::Redis => url("TEST_REDIS_URL"),
            Self::Valkey => url("TEST_VALKEY_URL"),
            Self::Cluster => Cluster::shared().url(),
        }
    }

    /// Connections to each of its servers, of which a cluster has several.
    pub async fn links(self) -> Vec<MultiplexedConnection> {
        match self {
            Self::Cluster => {
                let nodes = Cluster::shared().nodes().await;
                nodes.into_iter().map(|node| node.link).collect()
            }
            _ => vec![servers::link(Client::open(self.url()).expect("an address")).await],
        }
    }

    /// A connection to the server that has this queue.
    pub async fn link_to(self, queue: &QueueId) -> MultiplexedConnection {
        match self {
            Self::Cluster => Cluster::shared().owner(queue).await.link,
            _ => self.links().await.remove(0),
        }
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug, Clone)]
pub struct HandClock(Arc<AtomicU64>);

impl HandClock {
    /// A clock at a moment of no meaning.
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(START_US)))
    }

    /// Unix microseconds.
    pub fn now_us(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }

    /// Time passes.
    pub fn pass(&self, time: Duration) {
        self.0.fetch_add(micros(time), Ordering::SeqCst);
    }

    /// The clock is set back.
    pub fn go_back(&self, time: Duration) {
        self.0.fetch_sub(micros(time), Ordering::SeqCst);
    }

    /// The clock is set.
    pub fn set_ms(&self, now_ms: u64) {
        self.0.store(now_ms * 1_000, Ordering::SeqCst);
    }

    /// For a line to go by.
    pub fn as_clock(&self) -> Clock {
        let clock = self.clone();
        Arc::new(move || clock.now_us())
    }
}

impl Default for HandClock {
    fn default() -> Self {
        Self::new()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("tests do not last that long")
}

/// The id of the test's visitor of that number. The ids of visitors 1, 2, 3 are in no lexical order: a line that lets
/// ids decide anything is found out.
pub fn visitor(number: u64) -> EntryId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    // Byte 8 loses two bits to the variant; the number is in the first eight bytes as well.
    let uuid = Builder::from_custom_bytes(bytes).into_uuid();
    uuid.to_string().parse().expect("a UUID of version 8")
}

/// A queue id that no other test has: it is all that keeps tests on the same server apart.
pub fn fresh_queue() -> QueueId {
    format!("TEST:{}", Uuid::new_v4()).parse().expect("a queue id")
}

/// A configuration of these settings: other settings are another revision.
pub fn configuration(settings: &Settings) -> Configuration {
    Configuration {
        settings: settings.clone(),
        revision: serde_json::Value::Object(settings.to_map()).to_string(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([7; 32]),
    }
}

/// One queue on one line, and the clock that both go by.
pub struct Subject {
    /// The line under test.
    pub line: Arc<dyn Line>,
    /// The queue of this test.
    pub queue: QueueId,
    /// The time.
    pub clock: HandClock,
    /// The settings in force.
    pub settings: Settings,
    backend: Backend,
}

impl Subject {
    /// A subject whose queue is not set up yet.
    pub async fn new(backend: Backend) -> Self {
        let clock = HandClock::new();
        Self {
            line: backend.line(Some(clock.as_clock())).await,
            queue: fresh_queue(),
            clock,
            settings: Settings::default(),
            backend,
        }
    }

    /// Another subject whose journals hold so much.
    pub async fn limited(&self, limits: JournalLimits) -> Self {
        Self {
            line: self.backend.line_of(Some(self.clock.as_clock()), limits).await,
            queue: fresh_queue(),
            clock: self.clock.clone(),
            settings: Settings::default(),
            backend: self.backend,
        }
    }

    /// Another queue of the same line and clock, set up with these settings.
    pub async fn another(&self, settings: Settings) -> Self {
        let mut other = Self {
            line: Arc::clone(&self.line),
            queue: fresh_queue(),
            clock: self.clock.clone(),
            settings: Settings::default(),
            backend: self.backend,
        };
        other.open(settings).await;
        other
    }

    /// Sets the queue up.
    pub async fn open(&mut self, settings: Settings) {
        self.settings = settings;
        let configured = self
            .line
            .configure(&self.queue, &configuration(&self.settings), true)
            .await;
        assert_eq!(configured.expect("configure"), Configured::Created);
    }

    /// An operator changes settings.
    pub async fn set(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
        let configured = self
            .line
            .configure(&self.queue, &configuration(&self.settings), false)
            .await;
        assert_eq!(configured.expect("configure"), Configured::Changed);
    }

    /// Time passes.
    pub fn pass_ms(&self, ms: u64) {
        self.clock.pass(Duration::from_millis(ms));
    }

    /// Time passes.
    pub fn pass_seconds(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }

    /// A visitor enters and is given a place, new or old.
    pub async fn enter(&self, id: EntryId) -> Place {
        match self.line.enter(&self.queue, id).await.expect("enter") {
            Entered::Joined {
                how,
                standing,
                change,
            } => Place {
                how,
                standing,
                change,
            },
            refused @ Entered::Refused(_) => panic!("{refused:?}"),
        }
    }

    /// These visitors stand in line, in this order; none was let in on the fast track, and no time has passed.
    pub async fn line_up(&mut self, visitors: impl IntoIterator<Item = u64>) {
        self.set(|settings| settings.paused = true).await;
        for number in visitors {
            let place = self.enter(visitor(number)).await;
            assert_eq!(place.standing.state(), State::Waiting, "visitor {number}");
        }
        self.set(|settings| settings.paused = false).await;
    }

    /// One tick of a driver.
    pub async fn tick(&self) -> Promotion {
        let order = PromoteOrder {
            asked: u64::MAX,
            heartbeat: true,
        };
        self.line.promote(&self.queue, order).await.expect("promote")
    }

    /// Where a visitor stands.
    pub async fn look(&self, id: EntryId) -> Look {
        self.line.status(&self.queue, id).await.expect("status")
    }

    /// Where a visitor stands who has a place.
    pub async fn standing(&self, id: EntryId) -> Standing {
        match self.look(id).await {
            Look::Here(standing) => standing,
            gone @ Look::Gone(_) => panic!("{gone:?}"),
        }
    }

    /// The state of a visitor who has a place.
    pub async fn state(&self, id: EntryId) -> State {
        self.standing(id).await.state()
    }

    /// The position of a waiting visitor.
    pub async fn position(&self, id: EntryId) -> u64 {
        match self.standing(id).await {
            Standing::Waiting { position, .. } => position,
            other => panic!("not waiting: {other:?}"),
        }
    }

    /// What is known of a visitor who has no place.
    pub async fn missing(&self, id: EntryId) -> Missing {
        match self.look(id).await {
            Look::Gone(missing) => missing,
            here @ Look::Here(_) => panic!("{here:?}"),
        }
    }

    /// A ready visitor claims; gives the standing and the change.
    pub async fn claim(&self, id: EntryId) -> (Standing, Change) {
        match self.line.claim(&self.queue, id).await.expect("claim") {
            Claimed::Active { standing, change } => (standing, change),
            other => panic!("not claimed: {other:?}"),
        }
    }

    /// A visit ends, whichever it is.
    pub async fn leave(&self, id: EntryId, departure: Departure) -> Change {
        match self
            .line
            .leave(&self.queue, id, None, departure)
            .await
            .expect("leave")
        {
            Departed::Gone(change) => change,
            other => panic!("not gone: {other:?}"),
        }
    }

    /// How the queue stands.
    pub async fn view(&self) -> View {
        self.line.view(&self.queue).await.expect("view")
    }

    /// The whole journal.
    pub async fn journal(&self) -> Vec<JournalRecord> {
        self.line.journal(&self.queue, 10_000).await.expect("journal")
    }

    /// The backup takes the whole journal and learns of the last ends of these.
    pub async fn settle(&self, ended: &[EntryId]) {
        let keys: Vec<_> = self
            .journal()
            .await
            .into_iter()
            .map(|record| record.key)
            .collect();
        let version = self.view().await.version;
        let ended: Vec<_> = ended.iter().map(|id| Ending { id: *id, version }).collect();
        self.line
            .settle(&self.queue, &keys, &ended)
            .await
            .expect("settle");
    }
}

/// What a visitor who entered was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// How they came by it.
    pub how: Joining,
    /// Where they stand.
    pub standing: Standing,
    /// What to write.
    pub change: Option<Change>,
}
