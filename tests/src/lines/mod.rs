//! The lines under test: each kind of line, a clock that a test moves by hand, and a queue of its own for every test.

// A harness stops the test where it cannot go on.
#![allow(clippy::missing_panics_doc)]

mod hand_clock;
mod subject;

use std::sync::Arc;

use redis::{Client, aio::MultiplexedConnection};
use uuid::{Builder, Uuid};
use vestibule_clock::Clock;
use vestibule_domain::{
    change::Change,
    configuration::Configuration,
    entry_status::EntryStatus,
    id::{EntryId, QueueId, Salt},
    settings::Settings,
};
use vestibule_line::{ConfigureOutcome, EnterOutcome, LeaveOutcome, LeaveReason, Line, PromoteOrder};
use vestibule_line_memory::MemoryLine;
use vestibule_line_redis::RedisLine;

pub use self::{
    hand_clock::HandClock,
    subject::{Place, Subject},
};
use crate::{
    cluster::Cluster,
    servers::{self, url},
};

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
        if self == Self::Memory {
            return Arc::new(clock.map_or_else(MemoryLine::new, MemoryLine::with_clock));
        }
        let line = RedisLine::connect(&self.url()).await.expect("the server answers");
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

/// A promoter's tick for so many at the most.
pub fn tick_of(asked: u64) -> PromoteOrder {
    PromoteOrder {
        max_entries: asked,
        is_promoter: true,
        min_watermark: None,
    }
}

/// Enters, and is killed before anybody writes it: the change.
pub async fn enter_unwritten(line: &dyn Line, queue: &QueueId, id: EntryId) -> Change {
    match line.enter(queue, id).await.expect("enter") {
        EnterOutcome::Joined {
            change: Some(change), ..
        } => change,
        other => panic!("not new: {other:?}"),
    }
}

/// Leaves, and is killed before anybody writes it: the change.
pub async fn leave_unwritten(line: &dyn Line, queue: &QueueId, id: EntryId) -> Change {
    match line
        .leave(queue, id, None, LeaveReason::Leave)
        .await
        .expect("leave")
    {
        LeaveOutcome::Ended(change) => change,
        other => panic!("not gone: {other:?}"),
    }
}

/// Sets a new queue up in which [`visitor`] 1 waits, and whose next tick promotes them.
pub async fn open_with_one_waiting(line: &dyn Line, queue: &QueueId) {
    let mut settings = Settings {
        paused: true,
        ..Settings::default()
    };
    let configured = line.configure(queue, &configuration(&settings), true).await;
    assert_eq!(configured.expect("configure"), ConfigureOutcome::Created);
    let entered = line.enter(queue, visitor(1)).await.expect("enter");
    let waits = matches!(
        entered,
        EnterOutcome::Joined {
            status: EntryStatus::Waiting { .. },
            ..
        }
    );
    assert!(waits, "{entered:?}");
    settings.paused = false;
    let configured = line.configure(queue, &configuration(&settings), false).await;
    assert_eq!(configured.expect("configure"), ConfigureOutcome::Changed);
}
