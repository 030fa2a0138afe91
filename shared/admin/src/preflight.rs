//! The command `preflight`: asks the servers of the deployment whether they give what a sale needs. It changes nothing.
//! `preflight_findings.rs` decides what the answers mean.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use uuid::Uuid;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::id::QueueId;
use vestibule_wire::results::{PreflightResult, to_value};

use super::{
    Admin, Problem,
    describe::describe_build,
    preflight_findings::{KeyAnswer, RootKeyAnswer, ServersAnswers, decide_findings},
    stats::CONCURRENT_READS_MAX,
};

/// A queue that does not exist. Conditional writes for it must be refused, so they change nothing.
const NO_QUEUE: &str = "vestibule.preflight";

impl Admin {
    /// Asks the line, the backup and the store of the signing keys. A server that fails is a finding and no problem.
    pub(super) async fn preflight(&self) -> Result<Value, Problem> {
        let (line, entries, queues, signing_key, root_key) = tokio::join!(
            self.line.ask_server(),
            self.probe_entries(),
            self.probe_queues(),
            self.ask_key_store(),
            self.compare_root_key()
        );
        let answers = ServersAnswers {
            line: line.map_err(|error| error.to_string()),
            entries: entries.map_err(|error| error.to_string()),
            queues: queues.map_err(|error| error.to_string()),
            signing_key,
            root_key,
        };
        Ok(to_value(PreflightResult {
            build: describe_build(),
            findings: decide_findings(&answers),
        }))
    }

    /// Sends a conditional write of an entry, which the backup must refuse.
    async fn probe_entries(&self) -> Result<(), BackupError> {
        let partition = EntryPartition {
            queue: no_queue(),
            generation: 1,
            retain_hours: 1,
            grace_seconds: 0,
        };
        self.backup.probe_writes(&partition).await
    }

    /// Reads a queue that does not exist, and sends a conditional write of it.
    async fn probe_queues(&self) -> Result<(), BackupError> {
        let queue = no_queue();
        self.backup.look_up_queue(&queue).await?;
        self.backup.release_lease(&queue, 1, Uuid::new_v4()).await
    }

    /// Compares the root key with what each stored queue says of its own.
    async fn compare_root_key(&self) -> RootKeyAnswer {
        let present = match self.root_key.get().await {
            Ok(key) => key.fingerprint(),
            Err(reason) => return RootKeyAnswer::Unreadable(reason),
        };
        let read = async || {
            let queues = stream::iter(self.backup.list_queues().await?);
            let others = queues
                .map(|queue| async move {
                    let stored = self.backup.read_queue(&queue).await?;
                    let root = stored.and_then(|stored| stored.metadata.salt.root());
                    Ok::<_, BackupError>(root.is_some_and(|root| root != present).then_some(queue))
                })
                .buffer_unordered(CONCURRENT_READS_MAX);
            others
                .try_filter_map(async |other| Ok(other))
                .try_collect::<Vec<_>>()
                .await
        };
        match read().await {
            Ok(mut others) => {
                others.sort();
                RootKeyAnswer::Readable { others }
            }
            Err(error) => RootKeyAnswer::Unknown(error.to_string()),
        }
    }

    async fn ask_key_store(&self) -> KeyAnswer {
        let now_ms = vestibule_telemetry::clock::now_ms();
        match self.signing_keys.store.read().await {
            Err(error) => KeyAnswer::Unusable(error.to_string()),
            Ok(ring) => {
                let keys = ring.keys();
                let is_signing = keys
                    .iter()
                    .any(|key| key.signs_from_ms <= now_ms && key.is_published(now_ms));
                if is_signing {
                    KeyAnswer::Signing { keys: keys.len() }
                } else {
                    KeyAnswer::Unusable("no key of the ring signs at this time".to_owned())
                }
            }
        }
    }
}

fn no_queue() -> QueueId {
    NO_QUEUE.parse().expect("the name is a valid queue id")
}
