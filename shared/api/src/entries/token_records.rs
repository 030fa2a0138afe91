//! The records that were read for requests that present nothing but a token, each for a second.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::OnceCell, time::Instant};
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::EntryRecord,
};

use crate::bounds::RecentMap;

/// How long a record is kept.
const RECORD_AGE_MAX: Duration = Duration::from_secs(1);
/// The records that were read for tokens alone. Requests that come at once share one read.
#[derive(Default)]
pub(super) struct TokenRecords(Mutex<RecentMap<(QueueId, EntryId), RecentRead>>);

struct RecentRead {
    began_at: Instant,
    record: Arc<OnceCell<Option<EntryRecord>>>,
}

impl RecentRead {
    fn is_fresh(&self) -> bool {
        self.began_at.elapsed() < RECORD_AGE_MAX
    }
}

impl TokenRecords {
    pub(super) fn remove(&self, key: &(QueueId, EntryId)) {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.remove(key);
    }

    /// The place for the record of an entry. It is empty if no read has begun within the last second.
    pub(super) fn place(&self, queue: &QueueId, id: EntryId) -> Arc<OnceCell<Option<EntryRecord>>> {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || RecentRead {
            began_at: Instant::now(),
            record: Arc::default(),
        };
        let read = reads.get_or_insert((queue.clone(), id), new, RecentRead::is_fresh);
        if !read.is_fresh() {
            *read = new();
        }
        read.record.clone()
    }
}
