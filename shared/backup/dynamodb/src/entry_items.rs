//! Converts entries to items of the entries table, and back.
//!
//! ```text
//! shard             S   partition key: queue#generation#shard
//! entry             S   sort key: the entry id, a UUID of 36 characters
//! status            S   WAITING, READY, ACTIVE, COMPLETED, LEFT, EXPIRED, EVICTED
//! visit, step, step_ms, over   N   the fact; the last is 1 if the time of the step ran out, and otherwise 0
//! epoch, v          N   the version of the last change
//! score, lane       N   the place that the entry has or had; the score contains the lane, repeated for operators
//! joined_at_ms      N   also contained in the score
//! promoted_at_ms, claimed_at_ms, expires_at_ms, ended_at_ms   N
//! overlong_wait     N   1 if the wait lasted longer than the queue allows, and otherwise missing
//! source            S   where the visitor entered from: a keyed hash, never an address
//! use_id            S   the id of the use, if the protected service consumed the visit under one
//! earlier_use       S   the last earlier visit that was consumed under an id: its number, and how
//! delete_at_seconds N   the table's time to live
//! ```
//!
//! No item holds a visitor id.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    fact::{Fact, Step},
    id::EntryId,
    record::{EntryRecord, PutRules},
    score::{Visit, WaitScore},
    state::EntryState,
};

pub(super) const SHARD: &str = "shard";
pub(super) const ENTRY: &str = "entry";
pub(super) const DELETE_AT_SECONDS: &str = "delete_at_seconds";
const STATUS: &str = "status";
pub(super) const VISIT: &str = "visit";
pub(super) const STEP: &str = "step";
pub(super) const STEP_MS: &str = "step_ms";
pub(super) const OVER: &str = "over";
pub(super) const EPOCH: &str = "epoch";
pub(super) const V: &str = "v";
pub(super) const SCORE: &str = "score";
const LANE: &str = "lane";
const JOINED_AT_MS: &str = "joined_at_ms";
pub(super) const PROMOTED_AT_MS: &str = "promoted_at_ms";
pub(super) const CLAIMED_AT_MS: &str = "claimed_at_ms";
const EXPIRES_AT_MS: &str = "expires_at_ms";
const ENDED_AT_MS: &str = "ended_at_ms";
pub(super) const USE_ID: &str = "use_id";
pub(super) const EARLIER_USE: &str = "earlier_use";
const OVERLONG_WAIT: &str = "overlong_wait";
pub(super) const SOURCE: &str = "source";

/// An item: attributes by name.
pub(super) type Item = HashMap<String, AttributeValue>;

/// An expression, with its values by placeholder.
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) values: Item,
}

/// The states that match, each as a placeholder with its value.
pub(super) fn statuses(
    matches_state: impl Fn(EntryState) -> bool,
) -> impl Iterator<Item = (String, AttributeValue)> {
    let states = EntryState::ALL
        .into_iter()
        .filter(move |state| matches_state(*state));
    states.map(|state| {
        let status = AttributeValue::S(state.table_name().to_owned());
        (format!(":{}", state.name()), status)
    })
}

/// Sets the attributes that a change determines, and leaves the others of the item alone. The item
/// shows the visit of the change. `sets_version` is false if the item has a later version than the
/// change.
pub(super) fn assignments(change: &Change, rules: PutRules, sets_version: bool) -> Expression {
    let mut of_change = attributes(&EntryRecord::of_change(change, rules));
    of_change.remove(VISIT);
    if !sets_version {
        of_change.remove(EPOCH);
        of_change.remove(V);
    }
    // As in `EntryRecord::decide_put`: a repeated claim keeps the time of the first one.
    let is_first_claim = matches!(change.event, Event::FastTracked { .. });
    let mut texts: Vec<_> = of_change
        .keys()
        .map(|name| match name.as_str() {
            CLAIMED_AT_MS if !is_first_claim => format!("#{name} = if_not_exists(#{name}, :{name})"),
            _ => format!("#{name} = :{name}"),
        })
        .collect();
    texts.sort();
    // A visit that goes on after a missed turn has not ended.
    let removed: &[&str] = match change.event {
        Event::CameBack { .. } => &[PROMOTED_AT_MS, EXPIRES_AT_MS, ENDED_AT_MS, OVERLONG_WAIT],
        Event::Ended {
            how: EndReason::OverlongWait,
            ..
        } => &[],
        Event::Ended { .. } => &[OVERLONG_WAIT],
        _ => &[ENDED_AT_MS, OVERLONG_WAIT],
    };
    let mut text = format!("SET {}", texts.join(", "));
    if !removed.is_empty() {
        let removed: Vec<_> = removed.iter().map(|name| format!("#{name}")).collect();
        text = format!("{text} REMOVE {}", removed.join(", "));
    }
    Expression {
        text,
        values: to_placeholders(of_change),
    }
}

/// Adds the attributes that a late change determines and the item still lacks. A later use takes the place of an earlier one.
pub(super) fn additions(filled: &EntryRecord) -> Expression {
    let mut additions = attributes(filled);
    let added = [
        SCORE,
        LANE,
        JOINED_AT_MS,
        PROMOTED_AT_MS,
        CLAIMED_AT_MS,
        SOURCE,
        EARLIER_USE,
    ];
    additions.retain(|name, _| added.contains(&name.as_str()));
    let texts: Vec<_> = additions
        .keys()
        .map(|name| match name.as_str() {
            EARLIER_USE => format!("#{name} = :{name}"),
            _ => format!("#{name} = if_not_exists(#{name}, :{name})"),
        })
        .collect();
    Expression {
        text: format!("SET {}", texts.join(", ")),
        values: to_placeholders(additions),
    }
}

/// The attributes as values of the placeholders of their names.
pub(super) fn to_placeholders(attributes: Item) -> Item {
    attributes
        .into_iter()
        .map(|(name, value)| (format!(":{name}"), value))
        .collect()
}

/// The attribute name behind each `#name` in these expressions. The placeholders are needed because
/// DynamoDB reserves many of these words. It also rejects a placeholder that no expression uses.
pub(super) fn attribute_names(expressions: &[&str]) -> HashMap<String, String> {
    expressions
        .iter()
        .flat_map(|text| text.split('#').skip(1))
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            &rest[..end.unwrap_or(rest.len())]
        })
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|name| (format!("#{name}"), name.to_owned()))
        .collect()
}

/// The partition key of a shard.
pub(super) fn partition_key(partition: &EntryPartition, shard: u8) -> AttributeValue {
    AttributeValue::S(partition.shard_key(shard))
}

/// The key of an entry.
pub(super) fn key(partition: &EntryPartition, id: EntryId) -> Item {
    HashMap::from([
        (SHARD.to_owned(), partition_key(partition, id.shard())),
        (ENTRY.to_owned(), AttributeValue::S(id.to_string())),
    ])
}

/// A key that no entry has.
pub(super) fn unused_key(partition: &EntryPartition) -> Item {
    HashMap::from([
        (SHARD.to_owned(), partition_key(partition, 0)),
        (ENTRY.to_owned(), AttributeValue::S(".nobody".to_owned())),
    ])
}

/// The complete item of a record.
pub(super) fn to_item(partition: &EntryPartition, record: &EntryRecord) -> Item {
    let mut item = attributes(record);
    item.extend(key(partition, record.id));
    item
}

/// The attributes of a record, without its key.
pub(super) fn attributes(record: &EntryRecord) -> Item {
    let status = AttributeValue::S(record.state.table_name().to_owned());
    let texts = [
        (USE_ID, record.use_id.map(|use_id| use_id.to_string())),
        (EARLIER_USE, record.earlier_use.map(|earlier| earlier.to_string())),
        (SOURCE, record.source.map(|source| source.to_string())),
    ];
    let numbers = [
        (VISIT, Some(record.fact.visit.number())),
        (STEP, Some(record.fact.step.number())),
        (STEP_MS, Some(record.fact.step_ms)),
        (OVER, Some(record.fact.is_over.into())),
        (EPOCH, Some(record.version.epoch.into())),
        (V, Some(record.version.v)),
        (SCORE, record.score.map(WaitScore::raw)),
        (LANE, record.score.map(|score| u64::from(score.lane()))),
        (JOINED_AT_MS, record.joined_at_ms()),
        (PROMOTED_AT_MS, record.promoted_at_ms),
        (CLAIMED_AT_MS, record.claimed_at_ms),
        (EXPIRES_AT_MS, record.expires_at_ms),
        (ENDED_AT_MS, record.ended_at_ms),
        (OVERLONG_WAIT, record.is_overlong_wait.then_some(1)),
        (DELETE_AT_SECONDS, Some(record.delete_at_ms.div_ceil(1_000))),
    ];
    numbers
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), number(value?))))
        .chain([(STATUS.to_owned(), status)])
        .chain(
            texts
                .into_iter()
                .filter_map(|(name, text)| Some((name.to_owned(), AttributeValue::S(text?)))),
        )
        .collect()
}

/// Parses the record in an item.
///
/// # Errors
/// [`BackupError::Unreadable`] with the name of the first attribute that is missing or invalid.
pub(super) fn to_record(item: &Item) -> Result<EntryRecord, BackupError> {
    let id = required_text(item, ENTRY)?
        .parse()
        .map_err(|_| invalid_attribute_error(ENTRY))?;
    let fact = to_fact(item)?;
    // After an edit by hand, the status may contradict the fact.
    let state = EntryState::from_table_name(required_text(item, STATUS)?)
        .filter(|state| fact.live_state() == Some(*state).filter(|state| state.is_live()))
        .ok_or_else(|| invalid_attribute_error(STATUS))?;
    Ok(EntryRecord {
        id,
        state,
        version: Version {
            epoch: required_number(item, EPOCH)?,
            v: required_number(item, V)?,
        },
        fact,
        score: optional_number(item, SCORE)?
            .map(|raw| WaitScore::of_visit(raw, fact.visit).ok_or_else(|| invalid_attribute_error(SCORE)))
            .transpose()?,
        promoted_at_ms: optional_number(item, PROMOTED_AT_MS)?,
        claimed_at_ms: optional_number(item, CLAIMED_AT_MS)?,
        expires_at_ms: optional_number(item, EXPIRES_AT_MS)?,
        ended_at_ms: optional_number(item, ENDED_AT_MS)?,
        use_id: optional_parsed(item, USE_ID)?,
        earlier_use: optional_parsed(item, EARLIER_USE)?,
        is_overlong_wait: optional_number(item, OVERLONG_WAIT)? == Some(1),
        source: optional_parsed(item, SOURCE)?,
        delete_at_ms: required_number::<u64>(item, DELETE_AT_SECONDS)?.saturating_mul(1_000),
    })
}

fn to_fact(item: &Item) -> Result<Fact, BackupError> {
    Ok(Fact {
        visit: Visit::new(required_number(item, VISIT)?).ok_or_else(|| invalid_attribute_error(VISIT))?,
        step: Step::new(required_number(item, STEP)?).ok_or_else(|| invalid_attribute_error(STEP))?,
        step_ms: required_number(item, STEP_MS)?,
        is_over: match required_number(item, OVER)? {
            0 => false,
            1 => true,
            _ => return Err(invalid_attribute_error(OVER)),
        },
    })
}

/// A number as an attribute value.
pub(super) fn number(value: impl Into<u64>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

/// A string attribute.
///
/// # Errors
/// [`BackupError::Unreadable`] if the attribute is missing or is not a string.
pub(super) fn required_text<'a>(item: &'a Item, name: &str) -> Result<&'a str, BackupError> {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map(String::as_str)
        .ok_or_else(|| invalid_attribute_error(name))
}

/// An integer attribute.
///
/// # Errors
/// [`BackupError::Unreadable`] if the attribute is missing or is not an integer of this type.
pub(super) fn required_number<T: std::str::FromStr>(item: &Item, name: &str) -> Result<T, BackupError> {
    let value = item.get(name).and_then(|value| value.as_n().ok());
    value
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| invalid_attribute_error(name))
}

fn optional_number(item: &Item, name: &str) -> Result<Option<u64>, BackupError> {
    item.contains_key(name)
        .then(|| required_number(item, name))
        .transpose()
}

fn optional_parsed<T: std::str::FromStr>(item: &Item, name: &str) -> Result<Option<T>, BackupError> {
    let parse = || {
        required_text(item, name)?
            .parse()
            .map_err(|_| invalid_attribute_error(name))
    };
    item.contains_key(name).then(parse).transpose()
}

/// The error for an attribute that is missing or invalid.
pub(super) fn invalid_attribute_error(name: &str) -> BackupError {
    BackupError::Unreadable(format!("the attribute {name} is missing or has an invalid value"))
}
