//! Reads the entries of a queue page by page, with plain commands. Redis guarantees that a scan
//! returns every entry that stays in its set during the scan. Each command blocks Redis for one
//! page only.

use vestibule_domain::{
    entry_status::StoredPosition,
    id::QueueId,
    score::{DeadlineScore, WaitScore},
};
use vestibule_line::{Cursor, LineError, PAGE_ENTRIES, Page};

use super::{
    RedisLine,
    connect::{CallLink, to_line_error},
    end::parse_end,
    keys::Keys,
    reply::{parse_entry_id, parse_integer},
};

/// The sets in the order in which a visit goes through them. An entry that moves on during the scan is
/// therefore on two pages, and never missing.
const SCANNED_SETS: [(&str, &str); 4] = [
    ("waiting", "ZSCAN"),
    ("ready", "ZSCAN"),
    ("active", "ZSCAN"),
    ("ended", "HSCAN"),
];

pub(super) async fn read_page(line: &RedisLine, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
    let Some((name, scan)) = SCANNED_SETS.get(from.set) else {
        return Ok(Page::default());
    };
    let keys = Keys::new(queue);
    let after = if from.after.is_empty() { "0" } else { &from.after };
    let mut pipeline = redis::pipe();
    pipeline
        .cmd(scan)
        .arg(keys.key(name))
        .arg(after)
        .arg("COUNT")
        .arg(PAGE_ENTRIES)
        .exists(keys.key("config"));
    let send = async |mut link: CallLink| pipeline.query_async(&mut link).await.map_err(to_line_error);
    let ((after, pairs), queue_exists): ((String, Vec<(String, String)>), bool) =
        line.connection.call(send).await?;
    if !queue_exists {
        return Err(LineError::QueueNotFound);
    }
    let mut page = Page::default();
    for (member, value) in pairs {
        let id = parse_entry_id(&member)?;
        if *name == "ended" {
            page.ends.push(parse_end(id, &value)?);
        } else {
            page.positions.push((id, parse_position(name, &value)?));
        }
    }
    page.next = if after == "0" {
        let set = from.set + 1;
        (set < SCANNED_SETS.len()).then(|| Cursor {
            set,
            ..Cursor::default()
        })
    } else {
        Some(Cursor { set: from.set, after })
    };
    Ok(page)
}

fn parse_position(name: &str, value: &str) -> Result<StoredPosition, LineError> {
    let score = parse_integer(value);
    let deadline = score.and_then(DeadlineScore::from_raw);
    let position = match name {
        "waiting" => score.and_then(WaitScore::from_raw).map(StoredPosition::Waiting),
        "ready" => deadline.map(StoredPosition::Ready),
        _ => deadline.map(StoredPosition::Active),
    };
    position
        .ok_or_else(|| LineError::Protocol(format!("the sorted set `{name}` has the invalid score {value}")))
}
