//! Takes data out of Redis by hand, as a failure would.

use crate::scene::{Guest, Scene};

/// The keys of a queue.
const KEYS: [&str; 13] = [
    "waiting", "ready", "active", "visits", "ended", "settled", "present", "seen", "config", "state", "load",
    "journal", "lost",
];

/// The serialized values of keys, as Redis dumps them.
pub(crate) type Snapshot = Vec<(&'static str, Vec<u8>)>;

impl Scene {
    /// Removes these entries and the journal from Redis, as if their writes were lost.
    pub(crate) async fn forget_entries(&self, guests: &[Guest]) {
        let mut pipe = ::redis::pipe();
        for guest in guests {
            for set in ["waiting", "ready", "active", "settled", "present", "seen"] {
                pipe.zrem(self.key(set), guest.member()).ignore();
            }
            for hash in ["visits", "ended"] {
                pipe.hdel(self.key(hash), guest.member()).ignore();
            }
        }
        pipe.del(self.key("journal")).ignore();
        let done: Result<(), _> = pipe.query_async(&mut self.connection.clone()).await;
        done.expect("Redis answers");
    }

    /// Removes all keys of the queue, as `FLUSHALL` does.
    pub(crate) async fn lose_queue(&self) {
        let mut pipe = ::redis::pipe();
        for key in KEYS {
            pipe.del(self.key(key)).ignore();
        }
        let done: Result<(), _> = pipe.query_async(&mut self.connection.clone()).await;
        done.expect("Redis answers");
    }

    /// Dumps all keys of the queue.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        let mut snapshot = Vec::new();
        for key in KEYS {
            let dump = ::redis::cmd("DUMP").arg(self.key(key)).clone();
            let dumped: Result<Option<Vec<u8>>, _> = dump.query_async(&mut self.connection.clone()).await;
            let dumped = dumped.expect("Redis answers");
            snapshot.extend(dumped.map(|dumped| (key, dumped)));
        }
        snapshot
    }

    /// Replaces the queue in Redis by the snapshot in one step, as a failover to a replica that missed the changes
    /// since. The watermark stays, as if it was raised before the snapshot: else the queue would be restored as a whole.
    pub(crate) async fn fail_over_to(&self, snapshot: &Snapshot) {
        let connection = &mut self.connection.clone();
        let state = self.key("state");
        let watermark: Result<Vec<Option<String>>, _> = ::redis::cmd("HMGET")
            .arg(&state)
            .arg(&["fence", "fence_v"])
            .query_async(connection)
            .await;
        let watermark = watermark.expect("Redis answers");
        let mut pipe = ::redis::pipe();
        pipe.atomic();
        for key in KEYS {
            pipe.del(self.key(key)).ignore();
        }
        for (key, dumped) in snapshot {
            let restore = pipe.cmd("RESTORE").arg(self.key(key));
            restore.arg(0).arg(dumped).ignore();
        }
        for (field, value) in ["fence", "fence_v"].into_iter().zip(watermark) {
            pipe.hset(&state, field, value.unwrap_or_default()).ignore();
        }
        let done: Result<(), _> = pipe.query_async(connection).await;
        done.expect("Redis answers");
    }

    /// Replaces the queue in Redis by the snapshot.
    pub(crate) async fn restore_snapshot(&self, snapshot: &Snapshot) {
        self.lose_queue().await;
        for (key, dumped) in snapshot {
            let restore = ::redis::cmd("RESTORE")
                .arg(self.key(key))
                .arg(0)
                .arg(dumped)
                .clone();
            let done: Result<(), _> = restore.query_async(&mut self.connection.clone()).await;
            done.expect("Redis answers");
        }
    }
}
