//! Writes several changes of one entry at once. One conditional write per change would cost as many
//! write units; here a read, which costs a fifth of a write, shows what all of them together make
//! of the item. The item is then replaced under the condition that it has not changed since
//! (optimistic concurrency).

use vestibule_backup::{Backup, BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::Change,
    record::{EntryRecord, PutsDecision},
};

use super::{
    DynamoDbBackup, conditions,
    entry_items::{
        CLAIMED_AT_MS, EARLIER_USE, EPOCH, Expression, OVER, PROMOTED_AT_MS, SCORE, SOURCE, STEP, STEP_MS,
        USE_ID, V, VISIT, attributes, to_placeholders,
    },
    entry_writes::Attempt,
};

/// How often the item is read and written. A second attempt is needed if another writer changed the
/// item in between.
const ATTEMPTS_MAX: usize = 4;

impl DynamoDbBackup {
    /// Writes changes of one entry, and returns one outcome for each.
    pub(super) async fn write_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
    ) -> Result<Vec<PutOutcome>, BackupError> {
        let [first, _, ..] = changes else {
            return match changes.first() {
                Some(change) => Ok(vec![self.write_change(partition, change).await?]),
                None => Ok(Vec::new()),
            };
        };
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.read_entry(partition, first.id).await?;
            let decided = EntryRecord::decide_puts(stored.as_ref(), changes, partition.put_rules());
            if self
                .store_decided(partition, first, stored.as_ref(), &decided)
                .await?
            {
                return Ok(PutOutcome::from_decisions(changes, &decided));
            }
        }
        Err(BackupError::Unavailable(format!(
            "other writers changed the entry {} during each of {ATTEMPTS_MAX} attempts to write it",
            first.id
        )))
    }

    /// Stores the decided record in place of the stored one. Returns `false` if the item has
    /// changed since it was read.
    async fn store_decided(
        &self,
        partition: &EntryPartition,
        change: &Change,
        stored: Option<&EntryRecord>,
        decided: &PutsDecision,
    ) -> Result<bool, BackupError> {
        let Some(record) = decided.record.as_ref().filter(|record| stored != Some(*record)) else {
            return Ok(true);
        };
        let condition = match stored {
            Some(stored) => unchanged(stored),
            None => conditions::absent(),
        };
        let attempt = match stored {
            // An update keeps attributes that this release does not know.
            Some(stored) if stored.visit() == record.visit() => {
                let replacement = replacement(stored, record);
                self.update_item_if(partition, change, replacement, condition)
                    .await?
            }
            _ => self.put_item_if(partition, record.clone(), condition).await?,
        };
        Ok(matches!(attempt, Attempt::Stored(_)))
    }
}

/// Sets the attributes in which a record differs from the stored one of the same visit.
fn replacement(stored: &EntryRecord, record: &EntryRecord) -> Expression {
    let (before, after) = (attributes(stored), attributes(record));
    let mut removed: Vec<_> = before.keys().filter(|name| !after.contains_key(*name)).collect();
    let mut set = after.clone();
    set.retain(|name, value| before.get(name) != Some(value));
    let mut texts: Vec<_> = set.keys().map(|name| format!("#{name} = :{name}")).collect();
    texts.sort();
    removed.sort();
    let mut text = format!("SET {}", texts.join(", "));
    if !removed.is_empty() {
        let removed: Vec<_> = removed.iter().map(|name| format!("#{name}")).collect();
        text = format!("{text} REMOVE {}", removed.join(", "));
    }
    Expression {
        text,
        values: to_placeholders(set),
    }
}

/// The item still is the stored record, as far as other writers change it.
fn unchanged(stored: &EntryRecord) -> Expression {
    let mut stored = attributes(stored);
    let names = [
        VISIT,
        STEP,
        STEP_MS,
        OVER,
        EPOCH,
        V,
        SCORE,
        PROMOTED_AT_MS,
        CLAIMED_AT_MS,
        SOURCE,
        USE_ID,
        EARLIER_USE,
    ];
    let texts = names.map(|name| {
        if stored.contains_key(name) {
            format!("#{name} = :was_{name}")
        } else {
            format!("attribute_not_exists(#{name})")
        }
    });
    stored.retain(|name, _| names.contains(&name.as_str()));
    let values = stored.into_iter();
    Expression {
        text: texts.join(" AND "),
        values: values
            .map(|(name, value)| (format!(":was_{name}"), value))
            .collect(),
    }
}
