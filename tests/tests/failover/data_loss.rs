//! Takes data out of Redis by hand, as a failure would.

use std::sync::LazyLock;

use ::redis::Script;
use vestibule_tests::api::Guest;

use crate::scene::Scene;

/// The keys of a queue.
const KEYS: [&str; 14] = [
    "waiting", "ready", "active", "visits", "ended", "settled", "present", "seen", "closing", "config",
    "state", "load", "journal", "lost",
];

/// Replaces keys by their dumped values, and keeps the watermark. One script, so that no promoter runs in between. Its first
/// key is the state; the others are the keys to replace, by one dump each.
static FAIL_OVER: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local watermark = redis.call('HMGET', KEYS[1], 'fence', 'fence_v')
        for i = 2, #KEYS do
          redis.call('DEL', KEYS[i])
          if ARGV[i - 1] ~= '' then
            redis.call('RESTORE', KEYS[i], 0, ARGV[i - 1])
          end
        end
        redis.call('HSET', KEYS[1], 'fence', watermark[1] or '', 'fence_v', watermark[2] or '')",
    )
});

/// The serialized values of keys, as Redis dumps them.
pub(crate) type Snapshot = Vec<(&'static str, Vec<u8>)>;

impl Scene {
    /// Removes these entries and the journal from Redis, as if their writes were lost.
    pub(crate) async fn forget_entries(&self, guests: &[Guest]) {
        let mut pipe = ::redis::pipe();
        for guest in guests {
            for set in [
                "waiting", "ready", "active", "settled", "present", "seen", "closing",
            ] {
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
        let mut pipe = ::redis::pipe();
        pipe.atomic();
        for key in KEYS {
            pipe.cmd("DUMP").arg(self.key(key));
        }
        let dumped: Result<Vec<Option<Vec<u8>>>, _> = pipe.query_async(&mut self.connection.clone()).await;
        let dumped = dumped.expect("Redis answers");
        let present = KEYS.into_iter().zip(dumped);
        present.filter_map(|(key, dumped)| Some((key, dumped?))).collect()
    }

    /// Replaces the queue in Redis by the snapshot in one step, as a failover to a replica that missed the changes
    /// since. The watermark stays, as if it was raised before the snapshot: else the queue would be restored as a whole.
    pub(crate) async fn fail_over_to(&self, snapshot: &Snapshot) {
        let mut call = FAIL_OVER.prepare_invoke();
        call.key(self.key("state"));
        for key in KEYS {
            let dumped = snapshot.iter().find(|(dumped_key, _)| *dumped_key == key);
            call.key(self.key(key))
                .arg(dumped.map_or(&[][..], |(_, dumped)| dumped));
        }
        let done: Result<(), _> = call.invoke_async(&mut self.connection.clone()).await;
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
