//! Commands on streams.

use std::ops::Bound;

use redis::Value;

use super::words::{Words, syntax_error, text};
use crate::{
    reply::{Outcome, bulk, integer},
    store::Store,
    stream::{Stream, StreamId},
};

pub(super) fn count(store: &mut Store, words: &Words<'_>) -> Outcome {
    Ok(integer(store.read::<Stream>(words.key())?.map_or(0, Stream::len)))
}

/// `XADD key id name value …`. The id `*` is the time.
pub(super) fn add(store: &mut Store, words: &Words<'_>) -> Outcome {
    let given = match words.word(1) {
        b"*" => None,
        id => Some(StreamId::parse(text(id)?, 0)?),
    };
    let pairs = words
        .pairs(2)
        .map_err(|_| "ERR wrong number of arguments for 'xadd' command".to_owned())?;
    let values = pairs
        .flat_map(|(name, value)| [name.to_vec(), value.to_vec()])
        .collect();
    let now_ms = store.now_ms();
    let last = store
        .read::<Stream>(words.key())?
        .map_or(StreamId::MIN, Stream::last);
    if given.is_some_and(|given| given <= last) {
        return Err(
            "ERR The ID specified in XADD is equal or smaller than the target stream top item".to_owned(),
        );
    }
    let id = given.unwrap_or_else(|| last.next(now_ms));
    store.change(words.key(), |stream: &mut Stream| stream.add(id, values))?;
    Ok(bulk(id.to_string().as_bytes()))
}

pub(super) fn remove(store: &mut Store, words: &Words<'_>) -> Outcome {
    if store.read::<Stream>(words.key())?.is_none() {
        return Ok(Value::Int(0));
    }
    let ids = words.from(1).iter().map(|id| StreamId::parse(text(id)?, 0));
    let ids: Vec<_> = ids.collect::<Result<_, _>>()?;
    store.change(words.key(), |stream: &mut Stream| {
        integer(ids.into_iter().filter(|id| stream.remove(*id)).count())
    })
}

/// `XRANGE key from to [COUNT count]`. `-` and `+` are the ends of the stream, and `(` excludes the id behind it.
pub(super) fn range(store: &mut Store, words: &Words<'_>) -> Outcome {
    let from = match words.word(1).strip_prefix(b"(") {
        Some(id) => Bound::Excluded(parse_end(id, 0)?),
        None => Bound::Included(parse_end(words.word(1), 0)?),
    };
    let to = parse_end(words.word(2), u64::MAX)?;
    let most = match words.len() {
        3 => usize::MAX,
        5 if words.is_option(3, "COUNT") => usize::try_from(words.integer(4)?).unwrap_or(0),
        _ => return Err(syntax_error()),
    };
    let records = store.read::<Stream>(words.key())?.into_iter();
    let records = records.flat_map(|stream| stream.range(from, to)).take(most);
    let records = records.map(|(id, values)| {
        let values = values.iter().map(|value| bulk(value)).collect();
        Value::Array(vec![bulk(id.to_string().as_bytes()), Value::Array(values)])
    });
    Ok(Value::Array(records.collect()))
}

/// An end of a range. An id that is only a time gets this number.
fn parse_end(word: &[u8], number: u64) -> Result<StreamId, String> {
    match word {
        b"-" => Ok(StreamId::MIN),
        b"+" => Ok(StreamId::MAX),
        id => StreamId::parse(text(id)?, number),
    }
}
