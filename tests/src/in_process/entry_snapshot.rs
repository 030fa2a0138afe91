//! What the line and the backup have of each entry, so that a test sees which entries a request changed.

use std::collections::BTreeMap;

use vestibule_backup::Backup;
use vestibule_domain::id::EntryId;

use super::{InProcessApi, QUEUE};

/// The keys of the line that have something of an entry. Each member or field begins with the entry.
const SORTED_SETS: [&str; 9] = [
    "waiting", "ready", "active", "held", "present", "seen", "closing", "settled", "deferred",
];
const HASHES: [&str; 3] = ["visits", "ended", "journaled"];
/// The length of an entry in the line.
const MEMBER_BYTES: usize = 22;

/// What line and backup have of an entry, by the name of the key, or `record`.
pub type EntryFields = BTreeMap<String, String>;

/// Every entry that the line has anything of, and those whose records a test asked for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EntrySnapshot(BTreeMap<EntryId, EntryFields>);

impl EntrySnapshot {
    /// What line and backup have of an entry.
    pub fn of(&self, id: EntryId) -> EntryFields {
        self.0.get(&id).cloned().unwrap_or_default()
    }

    /// The entries of which a later snapshot has something else.
    pub fn changed(&self, later: &Self) -> Vec<EntryId> {
        let ids = self.0.keys().chain(later.0.keys());
        let mut changed: Vec<_> = ids
            .copied()
            .filter(|id| self.0.get(id) != later.0.get(id))
            .collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    fn add(&mut self, key: &str, member: &str, value: String) {
        let (entry, rest) = member.split_at(MEMBER_BYTES);
        let id = EntryId::from_member(entry).expect("the line's keys begin with an entry");
        let fields = self.0.entry(id).or_default();
        fields.insert(format!("{key}{rest}"), value);
    }
}

impl InProcessApi {
    /// Takes a snapshot of all entries of the line, and of the records of these entries.
    pub async fn snapshot_entries(&self, ids: &[EntryId]) -> EntrySnapshot {
        let mut snapshot = EntrySnapshot::default();
        for key in SORTED_SETS {
            let mut read = command("ZRANGE", key);
            read.arg(0).arg(-1).arg("WITHSCORES");
            let members: Vec<(String, String)> = self.ask_server(&read).await;
            for (member, score) in members {
                snapshot.add(key, &member, score);
            }
        }
        for key in HASHES {
            let fields: Vec<(String, Vec<u8>)> = self.ask_server(&command("HGETALL", key)).await;
            for (field, value) in fields {
                snapshot.add(key, &field, format!("{:?}", value.escape_ascii().to_string()));
            }
        }
        for id in ids {
            let record = self.backup.read_entry(&self.partition(), *id).await;
            if let Some(record) = record.expect("the backup answers") {
                let fields = snapshot.0.entry(*id).or_default();
                fields.insert("record".to_owned(), format!("{record:?}"));
            }
        }
        snapshot
    }

    /// Returns how many check-ins have shown that the front door is up.
    pub async fn check_ins(&self) -> Option<u64> {
        let mut read = command("HGET", "state");
        read.arg("check_ins");
        self.ask_server(&read).await
    }

    /// Removes an entry from the line, as a server does that loses its latest writes.
    pub async fn lose_entry(&self, id: EntryId) {
        for (name, keys) in [("ZREM", &SORTED_SETS[..]), ("HDEL", &HASHES[..2])] {
            for key in keys {
                let mut remove = command(name, key);
                remove.arg(id.to_member());
                self.ask_server::<u64>(&remove).await;
            }
        }
    }

    async fn ask_server<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> T {
        let answer = command.query_async(&mut self.server.clone()).await;
        answer.expect("the server answers")
    }
}

fn command(name: &str, key: &str) -> redis::Cmd {
    let mut command = redis::cmd(name);
    command.arg(format!("vestibule:{{{QUEUE}}}:{key}"));
    command
}
