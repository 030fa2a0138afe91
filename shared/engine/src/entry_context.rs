//! What a request knows about an entry, and the steps by which every request makes line and backup
//! agree about it.

use tokio::time::Instant;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{entry_status::EntryStatus, id::EntryId, record::EntryRecord};
use vestibule_line::{AdoptBasis, Line, LineError};
use vestibule_telemetry::line_limit::LineLimit;

use crate::{
    agree::{Agreement, Place, Start, agree},
    log_agreement::log_agreement,
    write_through::WRITE_DEADLINE,
};

/// While the backup is away, each visitor would have a line.
static LINES: LineLimit = LineLimit::new();

/// What a request knows about the queue of an entry, and where it finds the rest.
#[derive(Clone, Copy)]
pub struct EntryContext<'a> {
    /// The line.
    pub line: &'a Line,
    /// The backup.
    pub backup: &'a dyn Backup,
    /// Where the backup keeps the entries of the queue's generation.
    pub partition: &'a EntryPartition,
}

impl EntryContext<'_> {
    /// Reads the record of an entry, for a request that can do without it. Returns `None` if the
    /// backup is unavailable.
    pub async fn read_record(self, id: EntryId) -> Option<EntryRecord> {
        match self.backup.read_entry(self.partition, id).await {
            Ok(record) => record,
            Err(error) => {
                if let Some(left_out) = LINES.admit() {
                    tracing::warn!(
                        event = "entry.record_unavailable", cause = %error, left_out,
                        "continued a request without the record of the entry because the backup did not return it"
                    );
                }
                None
            }
        }
    }

    pub(super) async fn agree(
        self,
        id: EntryId,
        record: Option<EntryRecord>,
        basis: AdoptBasis,
    ) -> Result<Agreement, LineError> {
        let start = Start::Compare(id, record, basis);
        let deadline = Instant::now() + WRITE_DEADLINE;
        let agreement = agree(self.line, self.backup, self.partition, start, deadline).await?;
        if let Agreement::Reached(agreed) | Agreement::Unwritten(agreed, ..) = &agreement {
            log_agreement(self.partition, id, agreed);
        }
        Ok(agreement)
    }
}

impl Place {
    pub(super) fn status(self) -> Option<EntryStatus> {
        match self {
            Self::Live(status) => Some(status),
            Self::Unchanged | Self::Ended => None,
        }
    }
}
