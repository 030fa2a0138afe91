//! Records in the backup that a queue has opened, so that a restored line never goes back before the opening.

use tracing::warn;
use vestibule_backup::{Backup, StoredQueue};
use vestibule_domain::{id::QueueId, settings::Settings};
use vestibule_line::Line;

/// Records the opening in the backup if the line has it and the backup does not. A failure is harmless as long as the line
/// keeps its state: the next sync or fallback tick tries again.
pub(crate) async fn record_opening(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    stored: &StoredQueue,
    settings: &Settings,
) {
    // A queue without a time to open has nothing to go back to.
    if stored.metadata.opened_at_ms.is_some() || settings.opens_at_ms.is_none() {
        return;
    }
    let Ok(view) = line.queue_view(queue).await else {
        return;
    };
    let epoch = stored.metadata.epoch;
    let opened_at_ms = view.configuration.opened_at_ms;
    if let Some(at_ms) = opened_at_ms.filter(|_| view.configuration.epoch == epoch)
        && let Err(error) = backup.record_opening(queue, epoch, at_ms).await
    {
        warn!(
            event = "queue.opening_not_recorded",
            %queue,
            %error,
            "could not record in the backup that the queue has opened; the next sync tries again"
        );
    }
}
