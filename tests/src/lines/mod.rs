//! The lines under test: each server, a clock that a test moves by hand, and a new queue for each test.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod manual_clock;
mod raw_link;
mod subject;

use std::{env, sync::LazyLock};

use redis::{Client, aio::MultiplexedConnection};
use uuid::{Builder, Uuid};
use vestibule_domain::{
    change::Change,
    configuration::Configuration,
    entry_status::EntryStatus,
    id::{EntryId, QueueId, Salt},
    kept_times::KeptTimes,
    settings::Settings,
};
use vestibule_line::EmbeddedServer;
use vestibule_line::{
    Arrival, ConfigureOutcome, EnterOutcome, EntryLookup, LeaveOutcome, LeaveReason, Line, LineHistory,
    PromoteOrder,
};
use vestibule_telemetry::clock::{Clock, system_clock};

pub use self::{
    manual_clock::ManualClock,
    raw_link::RawLink,
    subject::{JoinedEntry, Subject},
};
use crate::{
    cluster::Cluster,
    servers::{self, server_url},
};

/// The servers that run the scripts of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The server inside this process.
    Embedded,
    /// Redis 7 on one server.
    Redis,
    /// Valkey on one server.
    Valkey,
    /// A Redis cluster of three primaries and three replicas over TLS. It refuses a script that accesses a key
    /// of another slot.
    Cluster,
}

impl Backend {
    /// Connects a line that uses the given clock, or the server's own clock if there is none.
    pub async fn connect_line(self, clock: Option<Clock>) -> Line {
        let line = self.connect_to_server().await;
        match clock {
            Some(clock) => line.with_given_time(clock),
            None => line,
        }
    }

    /// Connects to the server.
    pub async fn connect_to_server(self) -> Line {
        if self == Self::Embedded {
            return Line::on_embedded(embedded_server().clone());
        }
        Line::connect_patiently(&self.url())
            .await
            .expect("the server answers")
    }

    /// The URL of the server.
    pub fn url(self) -> String {
        match self {
            Self::Embedded => panic!("{self:?} has no address"),
            Self::Redis => server_url("TEST_REDIS_URL"),
            Self::Valkey => server_url("TEST_VALKEY_URL"),
            Self::Cluster => Cluster::shared().url(),
        }
    }

    /// Connections to all servers. A cluster has several.
    pub async fn connections(self) -> Vec<MultiplexedConnection> {
        match self {
            Self::Cluster => {
                let nodes = Cluster::shared().live_nodes().await;
                nodes.into_iter().map(|node| node.connection).collect()
            }
            _ => vec![servers::connect_redis(Client::open(self.url()).expect("an address")).await],
        }
    }

    /// A connection past the line to the server that holds this queue.
    pub async fn raw_link(self, queue: &QueueId) -> RawLink {
        match self {
            Self::Embedded => RawLink::Embedded(embedded_server().clone()),
            _ => RawLink::Server(self.connection_to_owner(queue).await),
        }
    }

    /// A connection to the server that holds this queue.
    pub async fn connection_to_owner(self, queue: &QueueId) -> MultiplexedConnection {
        match self {
            Self::Cluster => Cluster::shared().primary_of(queue).await.connection,
            _ => self.connections().await.remove(0),
        }
    }
}

/// The embedded server of this process. `infra/plant_faults.py` plants a fault in its scripts by the environment.
pub fn embedded_server() -> &'static EmbeddedServer {
    static SERVER: LazyLock<EmbeddedServer> = LazyLock::new(|| {
        let server = EmbeddedServer::new(system_clock());
        if let (Ok(text), Ok(faulty)) = (env::var("FAULT_IN_PLACE_OF"), env::var("FAULT")) {
            server.plant_fault(&text, &faulty);
        }
        server
    });
    &SERVER
}

/// The entry id of the test's visitor with this number. The ids of visitors 1, 2 and 3 are not in lexical
/// order, so a line that orders entries by id fails.
pub fn visitor(number: u64) -> EntryId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    // The UUID variant overwrites two bits of byte 8, so the first eight bytes contain the number as well.
    let uuid = Builder::from_custom_bytes(bytes).into_uuid();
    uuid.to_string().parse().expect("a UUID of version 8")
}

/// A queue id that no other test uses. Only the id separates tests on the same server.
pub fn fresh_queue() -> QueueId {
    format!("TEST:{}", Uuid::new_v4()).parse().expect("a queue id")
}

/// The configuration for these settings. Different settings have different revisions.
pub fn configuration(settings: &Settings) -> Configuration {
    Configuration {
        settings: settings.clone(),
        revision: serde_json::Value::Object(settings.to_map()).to_string(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([7; 32]),
        opened_at_ms: None,
        kept_times: KeptTimes::default(),
    }
}

/// The order for a promoter's tick that promotes at most this many entries.
pub fn tick_order(asked: u64) -> PromoteOrder {
    PromoteOrder {
        max_entries: asked,
        is_promoter: true,
        min_watermark: None,
        history: LineHistory::default(),
    }
}

/// Enters in the line, and polls at once as each client does. Returns the change without writing it to the backup, as if the
/// process was killed.
pub async fn enter_without_backup(line: &Line, queue: &QueueId, id: EntryId) -> Change {
    let change = match line.enter(queue, id, Arrival::Ordinary).await.expect("enter") {
        EnterOutcome::Joined {
            change: Some(change), ..
        } => change,
        other => panic!("not a new entry: {other:?}"),
    };
    line.check_in(queue, id).await.expect("an answer");
    change
}

/// Ends a visit and returns the change without writing it to the backup, as if the process was killed. A visitor in
/// line leaves, and the visit of an active one is completed.
pub async fn end_without_backup(line: &Line, queue: &QueueId, id: EntryId) -> Change {
    let reason = match line.status(queue, id).await.expect("status") {
        EntryLookup::Found(EntryStatus::Active { .. }) => LeaveReason::Complete,
        _ => LeaveReason::Leave,
    };
    match line.leave(queue, id, None, reason).await.expect("leave") {
        LeaveOutcome::Ended(change) => change,
        other => panic!("the visit did not end: {other:?}"),
    }
}

/// Creates a queue in which [`visitor`] 1 waits. The next tick promotes that visitor.
pub async fn open_queue_with_one_waiting(line: &Line, queue: &QueueId) {
    let mut settings = Settings {
        paused: true,
        ..Settings::default()
    };
    let configured = line.configure(queue, &configuration(&settings), true).await;
    assert_eq!(configured.expect("configure"), ConfigureOutcome::Created);
    let entered = line
        .enter(queue, visitor(1), Arrival::Ordinary)
        .await
        .expect("enter");
    let waits = matches!(
        entered,
        EnterOutcome::Joined {
            status: EntryStatus::Waiting { .. },
            ..
        }
    );
    assert!(waits, "{entered:?}");
    line.check_in(queue, visitor(1)).await.expect("an answer");
    settings.paused = false;
    let configured = line.configure(queue, &configuration(&settings), false).await;
    assert_eq!(configured.expect("configure"), ConfigureOutcome::Changed);
}
