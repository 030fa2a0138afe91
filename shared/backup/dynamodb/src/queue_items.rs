//! Converts queues to items of the queues table, and back.
//!
//! ```text
//! queue   S   partition key: the queue id
//! part    S   sort key: "settings" or "line"; default_items.rs describes the items with "defaults"
//! settings                  M   in part "settings", which operators edit: plain values, by the names of the settings;
//!                               any other type is read as well, and rejected with the name of the setting
//! settings_order            N   in part "settings": how often Vestibule replaced them; absent means 0
//! layout, epoch, generation, min_epoch, salt, root_key, fence, opened_at_ms, kept_times, lease_holder, lease_until_ms
//!                               in part "line": Vestibule's own metadata
//! epoch, generation, deleted_at_ms, delete_at_seconds
//!                               in part "line" of a deleted queue: its tombstone; the last one is the time to live
//! ```
//!
//! The table may have further parts of a queue. They stay when the queue is deleted.

use std::{collections::HashMap, str::FromStr};

use aws_sdk_dynamodb::types::AttributeValue;
use vestibule_backup::{BackupError, Lease, QueueLookup, QueueMetadata, StoredQueue};
use vestibule_domain::{
    id::{QueueId, RootFingerprint, Salt},
    kept_times::KeptTimes,
    tombstone::Tombstone,
};

use super::{
    entry_items::{DELETE_AT_SECONDS, Item, invalid_attribute_error, number, required_number, required_text},
    setting_values::{SETTINGS, from_stored, to_settings},
};

pub(super) const QUEUE: &str = "queue";
pub(super) const PART: &str = "part";
const SETTINGS_ORDER: &str = "settings_order";
pub(super) const SETTINGS_PART: &str = "settings";
pub(super) const METADATA_PART: &str = "line";
const LAYOUT: &str = "layout";
const EPOCH: &str = "epoch";
const GENERATION: &str = "generation";
const MIN_EPOCH: &str = "min_epoch";
const SALT: &str = "salt";
const ROOT_KEY: &str = "root_key";
const FENCE: &str = "fence";
const OPENED_AT_MS: &str = "opened_at_ms";
const KEPT_TIMES: &str = "kept_times";
const LEASE_HOLDER: &str = "lease_holder";
const LEASE_UNTIL_MS: &str = "lease_until_ms";
const DELETED_AT_MS: &str = "deleted_at_ms";

/// The key of one item of a queue.
pub(super) fn key(queue: &str, part: &str) -> Item {
    HashMap::from([
        (QUEUE.to_owned(), AttributeValue::S(queue.to_owned())),
        (PART.to_owned(), AttributeValue::S(part.to_owned())),
    ])
}

/// Both items of a queue.
pub(super) fn to_items(queue: &QueueId, stored: &StoredQueue) -> [Item; 2] {
    let mut settings = key(queue.as_str(), SETTINGS_PART);
    if let Some(stored) = from_stored(&stored.settings) {
        settings.insert(SETTINGS.to_owned(), stored);
    }
    settings.insert(SETTINGS_ORDER.to_owned(), number(stored.settings_order));
    let mut line = key(queue.as_str(), METADATA_PART);
    let part = &stored.metadata;
    line.extend([
        (LAYOUT.to_owned(), number(part.layout)),
        (EPOCH.to_owned(), number(part.epoch)),
        (GENERATION.to_owned(), number(part.generation)),
        (MIN_EPOCH.to_owned(), number(part.min_epoch)),
        (SALT.to_owned(), AttributeValue::S(part.salt.to_text())),
        (FENCE.to_owned(), number(part.watermark)),
    ]);
    if let Some(root) = part.salt.root() {
        line.insert(ROOT_KEY.to_owned(), root_value(root));
    }
    if let Some(at_ms) = part.opened_at_ms {
        line.insert(OPENED_AT_MS.to_owned(), number(at_ms));
    }
    if part.kept_times != KeptTimes::default() {
        line.insert(
            KEPT_TIMES.to_owned(),
            AttributeValue::S(part.kept_times.to_string()),
        );
    }
    if let Some(lease) = part.lease {
        line.extend([
            (
                LEASE_HOLDER.to_owned(),
                AttributeValue::S(lease.holder.to_string()),
            ),
            (LEASE_UNTIL_MS.to_owned(), number(lease.until_ms)),
        ]);
    }
    [settings, line]
}

/// The item that stays of a deleted queue.
pub(super) fn to_tombstone_item(queue: &QueueId, tombstone: &Tombstone) -> Item {
    let mut item = key(queue.as_str(), METADATA_PART);
    let delete_at_seconds = tombstone.delete_at_ms().div_ceil(1_000);
    item.extend([
        (EPOCH.to_owned(), number(tombstone.epoch)),
        (GENERATION.to_owned(), number(tombstone.generation)),
        (DELETED_AT_MS.to_owned(), number(tombstone.deleted_at_ms)),
        (DELETE_AT_SECONDS.to_owned(), number(delete_at_seconds)),
    ]);
    item
}

/// Parses the tombstone in an item of part `line`; `None` if the queue was not deleted.
fn to_tombstone(item: &Item) -> Result<Option<Tombstone>, BackupError> {
    if !item.contains_key(DELETED_AT_MS) {
        return Ok(None);
    }
    Ok(Some(Tombstone {
        epoch: required_number(item, EPOCH)?,
        generation: required_number(item, GENERATION)?,
        deleted_at_ms: required_number(item, DELETED_AT_MS)?,
    }))
}

/// Parses a queue from its items. A tombstone counts, whatever else is there. Other parts than its own are no queue.
///
/// # Errors
/// [`BackupError::Unreadable`] if only one of the two items exists, or an attribute is missing or
/// invalid.
pub(super) fn from_items(items: &[Item]) -> Result<QueueLookup, BackupError> {
    let part = |name| {
        items
            .iter()
            .find(|item| required_text(item, PART).is_ok_and(|part| part == name))
    };
    let (settings, line) = (part(SETTINGS_PART), part(METADATA_PART));
    if let Some(tombstone) = line.map(to_tombstone).transpose()?.flatten() {
        return Ok(QueueLookup::Deleted(tombstone));
    }
    let (settings, line) = match (settings, line) {
        (None, None) => return Ok(QueueLookup::Absent),
        (Some(settings), Some(line)) => (settings, line),
        (None, Some(_)) => return Err(missing_part_error(SETTINGS_PART)),
        (Some(_), None) => return Err(missing_part_error(METADATA_PART)),
    };
    Ok(QueueLookup::Present(StoredQueue {
        settings: to_settings(settings),
        settings_order: to_settings_order(settings)?,
        metadata: to_metadata(line)?,
    }))
}

/// Parses the metadata that a refused write returned; `None` if the queue was deleted.
///
/// # Errors
/// As [`to_metadata`].
pub(super) fn to_live_metadata(item: &Item) -> Result<Option<QueueMetadata>, BackupError> {
    match to_tombstone(item)? {
        Some(_) => Ok(None),
        None => to_metadata(item).map(Some),
    }
}

/// Parses the metadata in an item of part `line`.
///
/// # Errors
/// [`BackupError::Unreadable`] with the name of the first attribute that is missing or invalid.
pub(super) fn to_metadata(item: &Item) -> Result<QueueMetadata, BackupError> {
    Ok(QueueMetadata {
        layout: required_number(item, LAYOUT)?,
        epoch: required_number(item, EPOCH)?,
        generation: required_number(item, GENERATION)?,
        // Items from before resets and watermarks existed lack both attributes.
        min_epoch: number_or_zero(item, MIN_EPOCH)?,
        salt: to_salt(item)?,
        watermark: number_or_zero(item, FENCE)?,
        // A reset leaves 0.
        opened_at_ms: Some(number_or_zero(item, OPENED_AT_MS)?).filter(|at_ms| *at_ms > 0),
        kept_times: to_kept_times(item)?,
        lease: item
            .contains_key(LEASE_HOLDER)
            .then(|| to_lease(item))
            .transpose()?,
    })
}

/// Items from before kept times existed lack the attribute, and so does a queue whose settings never became shorter.
fn to_kept_times(item: &Item) -> Result<KeptTimes, BackupError> {
    if !item.contains_key(KEPT_TIMES) {
        return Ok(KeptTimes::default());
    }
    let kept = required_text(item, KEPT_TIMES)?.parse();
    kept.map_err(|_| invalid_attribute_error(KEPT_TIMES))
}

fn to_salt(item: &Item) -> Result<Salt, BackupError> {
    let salt = Salt::from_text(required_text(item, SALT)?).ok_or_else(|| invalid_attribute_error(SALT))?;
    let root = item.contains_key(ROOT_KEY).then(|| required_text(item, ROOT_KEY));
    let root = root.transpose()?.map(str::parse).transpose();
    Ok(salt.with_root(root.map_err(|_| invalid_attribute_error(ROOT_KEY))?))
}

/// The fingerprint of a root key as an attribute.
pub(super) fn root_value(root: RootFingerprint) -> AttributeValue {
    AttributeValue::S(root.to_string())
}

fn to_lease(item: &Item) -> Result<Lease, BackupError> {
    let holder = required_text(item, LEASE_HOLDER)?.parse();
    Ok(Lease {
        holder: holder.map_err(|_| invalid_attribute_error(LEASE_HOLDER))?,
        until_ms: required_number(item, LEASE_UNTIL_MS)?,
    })
}

fn missing_part_error(part: &str) -> BackupError {
    BackupError::Unreadable(format!(
        "the queue has no item with part {part:?} in the queues table"
    ))
}

/// How often Vestibule replaced the settings.
///
/// # Errors
/// [`BackupError::Unreadable`] if the attribute exists and is not an integer.
pub(super) fn to_settings_order(item: &Item) -> Result<u64, BackupError> {
    // An item that was made by hand, or before the number existed, lacks it.
    number_or_zero(item, SETTINGS_ORDER)
}

fn number_or_zero<T: FromStr + Default>(item: &Item, name: &str) -> Result<T, BackupError> {
    if item.contains_key(name) {
        required_number(item, name)
    } else {
        Ok(T::default())
    }
}
