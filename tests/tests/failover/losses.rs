//! What a Redis can lose, taken out of it by hand.

use crate::scene::{Guest, Scene};

/// The keys of a queue.
const KEYS: [&str; 10] = [
    "waiting", "ready", "active", "ended", "sought", "config", "state", "load", "journal", "lost",
];

/// What keys hold, as Redis itself writes it down.
pub(crate) type Snapshot = Vec<(&'static str, Vec<u8>)>;

impl Scene {
    /// The Redis never heard of these visits, nor wrote anything down of them.
    pub(crate) async fn forget(&self, guests: &[Guest]) {
        let mut pipe = ::redis::pipe();
        for guest in guests {
            for set in ["waiting", "ready", "active"] {
                pipe.zrem(self.key(set), guest.member()).ignore();
            }
            pipe.hdel(self.key("ended"), guest.member()).ignore();
        }
        pipe.del(self.key("journal")).ignore();
        let done: Result<(), _> = pipe.query_async(&mut self.link.clone()).await;
        done.expect("Redis answers");
    }

    /// The Redis has nothing of the queue, as after a `FLUSHALL`.
    pub(crate) async fn lose_everything(&self) {
        let mut pipe = ::redis::pipe();
        for key in KEYS {
            pipe.del(self.key(key)).ignore();
        }
        let done: Result<(), _> = pipe.query_async(&mut self.link.clone()).await;
        done.expect("Redis answers");
    }

    /// All that the Redis has of the queue.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        let mut snapshot = Vec::new();
        for key in KEYS {
            let dump = ::redis::cmd("DUMP").arg(self.key(key)).clone();
            let dumped: Result<Option<Vec<u8>>, _> = dump.query_async(&mut self.link.clone()).await;
            let dumped = dumped.expect("Redis answers");
            snapshot.extend(dumped.map(|dumped| (key, dumped)));
        }
        snapshot
    }

    /// The Redis is as it was.
    pub(crate) async fn go_back_to(&self, snapshot: &Snapshot) {
        self.lose_everything().await;
        for (key, dumped) in snapshot {
            let restore = ::redis::cmd("RESTORE")
                .arg(self.key(key))
                .arg(0)
                .arg(dumped)
                .clone();
            let done: Result<(), _> = restore.query_async(&mut self.link.clone()).await;
            done.expect("Redis answers");
        }
    }
}
