//! How much the journal of one queue holds.
//!
//! It is memory of Redis. A record of one change takes some 80 bytes there, and one of a tick 41 for each entry that it
//! moved, 41 kB at most (Redis 7.0). So a crowd that comes while the backup is away fills 100,000 records with 8 MB, and a
//! promoter that ticks each second is far from them for a day: what it writes grows by 41 bytes for each promotion, and by as
//! much again for each turn that nobody claims and each session that runs out.

/// From how many records on a journal takes less, at how many it takes none, and how many are set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalLimits {
    /// At so many records nobody gets a new place, and a promotion does nothing.
    pub newcomers: u64,
    /// At so many no change is taken at all. What lies between is kept for those who have a place.
    pub all: u64,
    /// So many are set aside: whatever else the backup refuses stays in the journal.
    pub aside: u64,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self {
            newcomers: 100_000,
            all: 200_000,
            aside: 10_000,
        }
    }
}
