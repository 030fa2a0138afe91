//! Resolves a conflict that writing a record of the journal found.

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{change::Change, record::EntryRecord};
use vestibule_line::{Line, LineError};

use super::{
    agree::{Agreement, Start, agree},
    log_agreement::log_agreement,
    write_through::WRITE_DEADLINE,
};

/// Makes the line and the backup agree about an entry whose change does not count, because the line
/// had lost what the record states. This precedes the acknowledgement of the change, so that a
/// killed process repeats it.
pub(super) async fn resolve_conflict(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
    record: &EntryRecord,
) -> Result<(), LineError> {
    let start = Start::Refused(*change, record.clone());
    let deadline = Instant::now() + WRITE_DEADLINE;
    match agree(line, backup, partition, start, deadline).await? {
        Agreement::Reached(agreed) => log_agreement(partition, change.id, &agreed),
        Agreement::Unwritten(_, unwritten, _) => {
            line.append_to_journal(&partition.queue, &unwritten).await?;
        }
        // The visitor's next request or the consistency check decides.
        Agreement::EnterAgain | Agreement::Undecided => {}
    }
    Ok(())
}
