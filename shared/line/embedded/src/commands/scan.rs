//! Scans: a page of a hash or a sorted set, and the cursor of the next one.
//!
//! A scan goes by the order of the names, so that it meets each name that is there from its beginning to its end, whatever
//! else changes. Its cursor is `>` and the last name of the page. Redis has numbers, which are opaque as well.

use std::ops::Bound;

use redis::Value;

use super::words::{Words, syntax_error};
use crate::reply::bulk;

const NAMES_DEFAULT: usize = 10;

/// Where a page begins, and how many names it may have: `key cursor [COUNT count]`.
pub(super) fn page<'a>(words: &Words<'a>) -> Result<(Bound<&'a [u8]>, usize), String> {
    let after = match words.word(1) {
        b"0" => Bound::Unbounded,
        cursor => Bound::Excluded(cursor.strip_prefix(b">").ok_or("ERR invalid cursor")?),
    };
    let count = match words.len() {
        2 => NAMES_DEFAULT,
        4 if words.is_option(2, "COUNT") => usize::try_from(words.integer(3)?).map_err(|_| syntax_error())?,
        _ => return Err(syntax_error()),
    };
    Ok((after, count.max(1)))
}

/// The page with the first `count` names of these, each with its value.
pub(super) fn answer<'a>(names: impl Iterator<Item = (&'a [u8], Value)>, count: usize) -> Value {
    let mut names = names.peekable();
    let (mut page, mut last) = (Vec::new(), None);
    for (name, value) in names.by_ref().take(count) {
        page.extend([bulk(name), value]);
        last = Some(name);
    }
    let cursor = match last {
        Some(last) if names.peek().is_some() => [b">", last].concat(),
        _ => b"0".to_vec(),
    };
    Value::Array(vec![Value::BulkString(cursor), Value::Array(page)])
}
