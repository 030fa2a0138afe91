//! How many records the journal of one queue may hold.
//!
//! The journal uses memory of Redis. With Redis 7.0 a record of one change takes about 150 bytes,
//! with its field in the hash `journaled`. A record of a tick takes 41 bytes for each entry that
//! the tick moved, 41 kB at most.
//!
//! If many visitors enter while the backup is unavailable, 100,000 records take 15 MB. A promoter
//! that ticks every second needs more than a day to write that many records. Its records grow by 41
//! bytes for each promotion, and by another 41 bytes for each missed turn and each expired session.

/// The limits of one queue's journal and dead letters, in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLimits {
    /// If a tick finds this many due records, `enter` gives no new place until a later tick finds
    /// fewer.
    pub new_entries: u64,
    /// At this many records, deferred ones included, `promote` moves nothing, and the journal
    /// rejects every change that does not replace one. The range between the two limits is reserved
    /// for entries that already have a place.
    pub all_changes: u64,
    /// The maximum number of dead letters. At this many, a record that the backup rejects stays in
    /// the journal.
    pub dead_letters: u64,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self {
            new_entries: 100_000,
            all_changes: 200_000,
            dead_letters: 10_000,
        }
    }
}
