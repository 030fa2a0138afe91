//! The tally of a queue: what its report shows.

use async_trait::async_trait;
use vestibule_domain::{change::Version, id::QueueId, tally::TallySnapshot};

use super::{LineError, QueueLine};

/// Hands out the [tally](vestibule_domain::tally) of a queue, so that it can be stored. A
/// [restore](crate::RecoveryLine::restore) puts a stored one back.
#[async_trait]
pub trait TallyLine: QueueLine {
    /// The tally at this moment.
    async fn read_tally(&self, queue: &QueueId) -> Result<TallySnapshot, LineError>;

    /// Takes the tally for storing it, if it has changed since the stored one and no caller took it within `every_ms`.
    ///
    /// Any number of callers may ask at any moment. The taken one counts as stored only after
    /// [`acknowledge_tally`](Self::acknowledge_tally). So the tally of a caller that fails is taken again.
    async fn take_tally(&self, queue: &QueueId, every_ms: u64) -> Result<Option<TallySnapshot>, LineError>;

    /// Records that the backup has the tally of this version, or a later one. A version of another epoch has no effect.
    async fn acknowledge_tally(&self, queue: &QueueId, stored: Version) -> Result<(), LineError>;
}
