//! Commands on hashes.

use std::ops::Bound;

use redis::Value;

use super::{
    scan,
    words::{Words, parse_integer},
};
use crate::{
    reply::{Outcome, bulk, integer, optional},
    store::{Hash, Store},
};

pub(super) fn get(store: &mut Store, words: &Words<'_>) -> Outcome {
    let hash = store.read::<Hash>(words.key())?;
    Ok(value_of(hash, words.word(1)))
}

pub(super) fn get_many(store: &mut Store, words: &Words<'_>) -> Outcome {
    let hash = store.read::<Hash>(words.key())?;
    let values = words.from(1).iter().map(|field| value_of(hash, field));
    Ok(Value::Array(values.collect()))
}

fn value_of(hash: Option<&Hash>, field: &[u8]) -> Value {
    optional(hash.and_then(|hash| hash.get(field)).map(Vec::as_slice))
}

pub(super) fn get_all(store: &mut Store, words: &Words<'_>) -> Outcome {
    let fields = store.read::<Hash>(words.key())?.into_iter().flatten();
    let words = fields.flat_map(|(field, value)| [bulk(field), bulk(value)]);
    Ok(Value::Array(words.collect()))
}

/// `HSCAN key cursor [COUNT count]`.
pub(super) fn scan(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (after, count) = scan::page(words)?;
    let hash = store.read::<Hash>(words.key())?.into_iter();
    let fields = hash.flat_map(|hash| hash.range::<[u8], _>((after, Bound::Unbounded)));
    Ok(scan::answer(
        fields.map(|(field, value)| (field.as_slice(), bulk(value))),
        count,
    ))
}

pub(super) fn exists(store: &mut Store, words: &Words<'_>) -> Outcome {
    let hash = store.read::<Hash>(words.key())?;
    let is_there = hash.is_some_and(|hash| hash.contains_key(words.word(1)));
    Ok(Value::Int(is_there.into()))
}

pub(super) fn count(store: &mut Store, words: &Words<'_>) -> Outcome {
    Ok(integer(store.read::<Hash>(words.key())?.map_or(0, Hash::len)))
}

/// Answers how many fields are new.
pub(super) fn set(store: &mut Store, words: &Words<'_>) -> Outcome {
    let pairs = words
        .pairs(1)
        .map_err(|_| "ERR wrong number of arguments for 'hset' command".to_owned())?;
    store.change(words.key(), |hash: &mut Hash| {
        let new = pairs.filter(|(field, value)| hash.insert(field.to_vec(), value.to_vec()).is_none());
        integer(new.count())
    })
}

pub(super) fn increase(store: &mut Store, words: &Words<'_>) -> Outcome {
    let (field, by) = (words.word(1), words.integer(2)?);
    let old = match store.read::<Hash>(words.key())?.and_then(|hash| hash.get(field)) {
        Some(old) => parse_integer(old).map_err(|_| "ERR hash value is not an integer".to_owned())?,
        None => 0,
    };
    let new = old
        .checked_add(by)
        .ok_or("ERR increment or decrement would overflow")?;
    store.change(words.key(), |hash: &mut Hash| {
        hash.insert(field.to_vec(), new.to_string().into_bytes());
    })?;
    Ok(Value::Int(new))
}

pub(super) fn remove(store: &mut Store, words: &Words<'_>) -> Outcome {
    store.change(words.key(), |hash: &mut Hash| {
        let removed = words
            .from(1)
            .iter()
            .filter(|field| hash.remove(**field).is_some());
        integer(removed.count())
    })
}
