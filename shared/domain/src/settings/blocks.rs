//! The setting `blocked`: which visitors and sources an operator does not let enter.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{
    error::SettingsError,
    field::{Field, FieldType},
    values::SettingValue,
};
use crate::{
    id::{EntryId, Source},
    number::whole_number,
};

/// The most blocks of a queue. Every process reads the settings once a second, so the list has to stay small.
pub const BLOCKS_MAX: usize = 500;

const TOKEN: &str = "token";
const SOURCE: &str = "source";
const UNTIL_MS: &str = "until_ms";

/// Who is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTarget {
    /// The visitor of this entry.
    Entry(EntryId),
    /// All visitors from this source.
    Source(Source),
}

/// One block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Who may not enter.
    pub target: BlockTarget,
    /// When the block ends, in Unix milliseconds; `None` if only an operator ends it.
    pub until_ms: Option<u64>,
}

impl Block {
    fn is_in_force(&self, now_ms: u64) -> bool {
        self.until_ms.is_none_or(|until_ms| now_ms < until_ms)
    }
}

/// The list of blocks. It has at most [`BLOCKS_MAX`] blocks, and at most one of each target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocks(Vec<Block>);

/// The list has no room for another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the queue has {BLOCKS_MAX} blocks in force, which is the maximum; end some of them with the command unblock"
)]
pub struct TooManyBlocks;

impl Blocks {
    /// All blocks, also those that have ended.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.0.iter()
    }

    /// The block of the target that is in force at `now_ms`, in Unix milliseconds.
    pub fn find(&self, target: BlockTarget, now_ms: u64) -> Option<&Block> {
        let found = self.0.iter().find(|block| block.target == target);
        found.filter(|block| block.is_in_force(now_ms))
    }

    /// Whether the target is blocked at `now_ms`, in Unix milliseconds.
    pub fn contains(&self, target: BlockTarget, now_ms: u64) -> bool {
        self.find(target, now_ms).is_some()
    }

    /// The list with this block, which replaces one of the same target. Blocks that have ended are dropped.
    ///
    /// # Errors
    /// [`TooManyBlocks`] if the list is full.
    pub fn with(&self, block: Block, now_ms: u64) -> Result<Self, TooManyBlocks> {
        let mut blocks = self.without(block.target, now_ms);
        if blocks.0.len() >= BLOCKS_MAX {
            return Err(TooManyBlocks);
        }
        blocks.0.push(block);
        Ok(blocks)
    }

    /// The list without a block of this target. Blocks that have ended are dropped, too.
    #[must_use]
    pub fn without(&self, target: BlockTarget, now_ms: u64) -> Self {
        let kept = self.0.iter().copied();
        Self(
            kept.filter(|block| block.target != target && block.is_in_force(now_ms))
                .collect(),
        )
    }
}

impl SettingValue for Blocks {
    fn parse(field: &Field, value: &Value) -> Result<Self, SettingsError> {
        let FieldType::Blocks { max } = field.field_type else {
            unreachable!("{} takes blocks", field.name)
        };
        // The AWS console often stores a list as its text.
        let parsed = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        let blocks = match parsed.as_ref().unwrap_or(value) {
            Value::Null => Some(Vec::new()),
            Value::Array(values) if values.len() <= max => values.iter().map(parse_block).collect(),
            _ => None,
        };
        let blocks: Vec<Block> = blocks.ok_or_else(|| field.refuse_value())?;
        let is_repeated = |(at, block): (usize, &Block)| {
            let before = &blocks[..at];
            before.iter().any(|earlier| earlier.target == block.target)
        };
        if blocks.iter().enumerate().any(is_repeated) {
            return Err(field.refuse_value());
        }
        Ok(Self(blocks))
    }
}

fn parse_block(value: &Value) -> Option<Block> {
    let block: &Map<String, Value> = value.as_object()?;
    let text = |name: &str| block.get(name).map(Value::as_str);
    let target = match (text(TOKEN), text(SOURCE)) {
        (Some(token), None) => BlockTarget::Entry(token?.parse().ok()?),
        (None, Some(source)) => BlockTarget::Source(source?.parse().ok()?),
        _ => return None,
    };
    let until_ms = match block.get(UNTIL_MS) {
        None | Some(Value::Null) => None,
        Some(Value::String(digits)) => Some(digits.trim().parse().ok()?),
        Some(number) => Some(whole_number(number)?),
    };
    let names = [TOKEN, SOURCE, UNTIL_MS];
    let is_known = block.keys().all(|name| names.contains(&name.as_str()));
    is_known.then_some(Block { target, until_ms })
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.target {
            BlockTarget::Entry(id) => map.serialize_entry(TOKEN, &id.to_string())?,
            BlockTarget::Source(source) => map.serialize_entry(SOURCE, &source.to_string())?,
        }
        if let Some(until_ms) = self.until_ms {
            map.serialize_entry(UNTIL_MS, &until_ms)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::Settings;

    const TOKEN_TEXT: &str = "0f8fad5b-d9cb-869f-a165-70867728950e";
    const SOURCE_TEXT: &str = "AAECAwQFBgc";

    fn blocks(value: &Value) -> Option<Blocks> {
        let map = Map::from_iter([("blocked".to_owned(), value.clone())]);
        Settings::from_map(&map).ok().map(|settings| settings.blocked)
    }

    fn entry() -> BlockTarget {
        BlockTarget::Entry(TOKEN_TEXT.parse().expect("a token"))
    }

    #[test]
    fn blocks_round_trip_and_malformed_ones_are_refused() {
        let list = json!([{ "token": TOKEN_TEXT }, { "source": SOURCE_TEXT, "until_ms": 1_000 }]);
        let read = blocks(&list).expect("a valid list");
        assert_eq!(json!(read), list);
        assert_eq!(blocks(&Value::Null), Some(Blocks::default()));
        for wrong in [
            json!("everyone"),
            json!([{}]),
            json!([{ "token": SOURCE_TEXT }]),
            json!([{ "source": "192.0.2.1" }]),
            json!([{ "token": TOKEN_TEXT, "source": SOURCE_TEXT }]),
            json!([{ "token": TOKEN_TEXT, "until_ms": -1 }]),
            json!([{ "token": TOKEN_TEXT, "for_seconds": 1 }]),
            json!([{ "token": TOKEN_TEXT }, { "token": TOKEN_TEXT }]),
            json!(vec![json!({ "token": TOKEN_TEXT }); BLOCKS_MAX + 1]),
        ] {
            assert_eq!(blocks(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn block_ends_at_its_time_and_is_dropped_by_the_next_change() {
        let source = BlockTarget::Source(SOURCE_TEXT.parse().expect("a source"));
        let until = |target, until_ms| Block { target, until_ms };
        let none = Blocks::default();
        let list = none.with(until(source, Some(1_000)), 0).expect("room");
        assert!(list.contains(source, 999));
        assert!(!list.contains(source, 1_000));
        assert!(!list.contains(entry(), 0));
        let longer = list.with(until(source, Some(2_000)), 10).expect("room");
        assert_eq!(longer.iter().count(), 1);
        assert!(longer.contains(source, 1_000));
        let later = longer.with(until(entry(), None), 2_000).expect("room");
        assert_eq!(later.iter().count(), 1, "the first one has ended");
        assert!(later.contains(entry(), u64::MAX));
        assert_eq!(later.without(entry(), 2_000), none);
    }
}
