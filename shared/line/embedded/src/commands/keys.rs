//! Commands on keys of any type and on texts, the clock, and messages.

use redis::Value;

use super::words::{Words, syntax_error};
use crate::{
    reply::{Outcome, bulk, integer, optional},
    store::Store,
};

pub(super) fn remove(store: &mut Store, words: &Words<'_>) -> Outcome {
    let removed = words.from(0).iter().filter(|key| store.remove(key));
    Ok(integer(removed.count()))
}

pub(super) fn exists(store: &mut Store, words: &Words<'_>) -> Outcome {
    let found = words.from(0).iter().filter(|key| store.contains(key));
    Ok(integer(found.count()))
}

pub(super) fn get(store: &mut Store, words: &Words<'_>) -> Outcome {
    let text = store.read::<Vec<u8>>(words.key())?;
    Ok(optional(text.map(Vec::as_slice)))
}

/// `SET key text [PX milliseconds]`.
pub(super) fn set(store: &mut Store, words: &Words<'_>) -> Outcome {
    let ttl_ms = match words.len() {
        2 => None,
        4 if words.is_option(2, "PX") => Some(positive(words.integer(3)?, "set")?),
        _ => return Err(syntax_error()),
    };
    store.set(words.key(), words.word(1));
    if let Some(ttl_ms) = ttl_ms {
        store.end_at(words.key(), store.now_ms().saturating_add(ttl_ms));
    }
    Ok(Value::Okay)
}

pub(super) fn expire(store: &mut Store, words: &Words<'_>) -> Outcome {
    end_after(store, words, 1_000)
}

pub(super) fn expire_ms(store: &mut Store, words: &Words<'_>) -> Outcome {
    end_after(store, words, 1)
}

/// Sets the time to live. A key whose time is over is removed at once.
fn end_after(store: &mut Store, words: &Words<'_>, unit_ms: i64) -> Outcome {
    let ttl_ms = words.integer(1)?.saturating_mul(unit_ms);
    let Ok(ttl_ms @ 1..) = u64::try_from(ttl_ms) else {
        return Ok(Value::Int(store.remove(words.key()).into()));
    };
    let end_ms = store.now_ms().saturating_add(ttl_ms);
    Ok(Value::Int(store.end_at(words.key(), end_ms).into()))
}

pub(super) fn persist(store: &mut Store, words: &Words<'_>) -> Outcome {
    Ok(Value::Int(store.persist(words.key()).into()))
}

pub(super) fn rename(store: &mut Store, words: &Words<'_>) -> Outcome {
    store.rename(words.key(), words.word(1))?;
    Ok(Value::Okay)
}

pub(super) fn ping(_: &mut Store, _: &Words<'_>) -> Outcome {
    Ok(Value::SimpleString("PONG".to_owned()))
}

/// Seconds, and microseconds of the second.
pub(super) fn time(store: &mut Store, _: &Words<'_>) -> Outcome {
    let (seconds, micros) = (store.now_us / 1_000_000, store.now_us % 1_000_000);
    let parts = [seconds, micros].map(|part| bulk(part.to_string().as_bytes()));
    Ok(Value::Array(parts.to_vec()))
}

/// The message is delivered when the running command or script has ended, so no subscriber has received it yet.
pub(super) fn publish(store: &mut Store, words: &Words<'_>) -> Outcome {
    let message = words.word(1).to_vec();
    store.published.push((words.key().to_vec(), message));
    Ok(Value::Int(0))
}

fn positive(number: i64, command: &str) -> Result<u64, String> {
    u64::try_from(number)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("ERR invalid expire time in '{command}' command"))
}
