//! What brings the line into agreement with the backup.

use async_trait::async_trait;
use vestibule_domain::{configuration::Configuration, id::QueueId, tombstone::Tombstone};

use super::{
    AdoptOrder, AdoptOutcome, CheckAssignment, CheckOrder, ConfigureOutcome, Cursor, LineError, Page,
    QueueLine, RaiseWatermarkOutcome, RestoredEntries, SwitchOrder, UnflushedChanges, UnsavedSwitches,
};

/// Configuration, restore, watermark, repair and the consistency check: what brings the line into
/// agreement with the backup.
#[async_trait]
pub trait RecoveryLine: QueueLine {
    /// Puts a configuration in force. Creates the queue empty if the line does not have it and
    /// `create` is set. A deleted queue is created again only with an epoch above that of its tombstone.
    ///
    /// The line applies optimistic concurrency:
    ///
    /// - [`ConfigureOutcome::Superseded`]: the given epoch is earlier than the one in force, or the
    ///   epochs are equal and the given `settings_order` is lower. A newer configuration has
    ///   overtaken the caller's copy.
    /// - At the same `settings_order` the last call wins, because an edit by hand does not raise
    ///   the order.
    /// - [`ConfigureOutcome::NeedsRestore`]: the given epoch is later. The caller has to restore
    ///   the queue first.
    /// - [`ConfigureOutcome::SwitchesUnsaved`]: a [`switch`](Self::switch) is in force that the backup may not have. The
    ///   caller has to save it there first, and then [settles](Self::settle_switches) it.
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError>;

    /// Puts a switch in force that the backup does not have, because it is away. Until the switch is
    /// [settled](Self::settle_switches), no configuration from the backup replaces it.
    ///
    /// Changes nothing if another configuration is in force than the one that the caller has changed
    /// ([`ConfigureOutcome::Superseded`]), or if the switch has this value ([`ConfigureOutcome::Unchanged`]).
    async fn switch(&self, queue: &QueueId, order: &SwitchOrder) -> Result<ConfigureOutcome, LineError>;

    /// Returns the switches that the backup may not have; `None` if there are none.
    async fn unsaved_switches(&self, queue: &QueueId) -> Result<Option<UnsavedSwitches>, LineError>;

    /// Notes that the backup has the switches up to this serial. Returns `false`, and changes nothing, if there is a later
    /// one.
    async fn settle_switches(&self, queue: &QueueId, serial: u64) -> Result<bool, LineError>;

    /// Restores a queue that the line does not have, or that it has with an earlier epoch.
    ///
    /// Waiting entries return to their places. Ready entries get new claim deadlines. Active
    /// entries stay active until their session ends. The pace bucket starts empty, and the
    /// watermark of [`raise_watermark`](Self::raise_watermark) starts at `fence`.
    ///
    /// Changes nothing if the queue has this epoch ([`ConfigureOutcome::Unchanged`]), or if it has
    /// a later epoch or was dropped for a later one ([`ConfigureOutcome::Superseded`]).
    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError>;

    /// Drops a queue before its restore with this epoch. From then on the line does not have the
    /// queue. The line keeps the changes that the backup may not have yet: see
    /// [`unflushed`](Self::unflushed).
    ///
    /// Returns `false` and changes nothing if the queue has this epoch or a later one, or was
    /// dropped for a later one.
    async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError>;

    /// Removes a deleted queue: its entries, its configuration, and also changes that the backup may not have. The line
    /// keeps the tombstone as long as the backup does, so that a process with an older view of the queue cannot bring it
    /// back. Only a queue of a later epoch replaces the tombstone.
    ///
    /// Returns `false` and changes nothing if the line has the queue with the epoch of the tombstone or a later one, or
    /// a later tombstone: the queue was created again. The call is idempotent.
    async fn delete_queue(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, LineError>;

    /// Returns the unflushed changes of a dropped queue: at most `records_max` journal records and
    /// at most `records_max` ends. [`acknowledge`](crate::JournalLine::acknowledge) removes them.
    async fn unflushed(&self, queue: &QueueId, records_max: usize) -> Result<UnflushedChanges, LineError>;

    /// Raises the watermark of a queue with this epoch. The watermark shows whether a line
    /// restarted with stale data.
    ///
    /// The caller passes in `fence` the watermark that it read from the backup, and writes the new
    /// one to the backup afterwards.
    async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError>;

    /// Returns one page of the entries of a queue, beginning at `from`. A page has about
    /// [`PAGE_ENTRIES`](crate::PAGE_ENTRIES) entries at most.
    async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError>;

    /// Compares one entry with its record in the backup, by
    /// [`reconcile`](vestibule_domain::reconcile::reconcile): the greater fact wins.
    ///
    /// - If the record's fact is greater, the line takes it over: the entry goes to its place, gets
    ///   a new claim deadline, stays active until its session ends, or is removed because it ended.
    /// - If the line's fact is greater, the answer has the change to write.
    /// - A provisional place that the backup refused yields to an earlier visit that goes on, by
    ///   [`resolve_provisional`](vestibule_domain::reconcile::resolve_provisional).
    ///
    /// An entry that the line does not know is taken over only if the caller learned that within
    /// [`ADOPT_WITHIN_MS`](crate::ADOPT_WITHIN_MS). So a process that was suspended does not bring
    /// an ended visit back.
    async fn adopt(&self, queue: &QueueId, order: &AdoptOrder) -> Result<AdoptOutcome, LineError>;

    /// Gives the consistency check of a queue to the first caller that asks when the check is due.
    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError>;

    /// Records that the current consistency check has covered the shards below `shards`. The check
    /// ends when it has covered all shards.
    async fn record_check_progress(&self, queue: &QueueId, covered_shards: u8) -> Result<(), LineError>;
}
