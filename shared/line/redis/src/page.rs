//! Reads the entries of a queue page by page, with plain commands. Redis guarantees that a scan returns every
//! entry that stays in its set during the scan. Each command blocks Redis for one page only.

use vestibule_domain::{
    id::QueueId,
    score::{DeadlineScore, WaitScore},
    standing::Spot,
};
use vestibule_line::{Cursor, LineError, PAGE_ENTRIES, Page};

use super::{
    RedisLine,
    connect::{Sender, failed},
    end::parse,
    keys::Keys,
    reply::{entry_id, whole},
};

/// The sets in the order in which a visit goes through them. An entry that moves on during the scan is
/// therefore on two pages, and never missing.
const SETS: [(&str, &str); 4] = [
    ("waiting", "ZSCAN"),
    ("ready", "ZSCAN"),
    ("active", "ZSCAN"),
    ("ended", "HSCAN"),
];

pub(super) async fn page(line: &RedisLine, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
    let Some((name, scan)) = SETS.get(from.set) else {
        return Ok(Page::default());
    };
    let keys = Keys::new(queue);
    let after = if from.after.is_empty() { "0" } else { &from.after };
    let mut asked = redis::pipe();
    asked
        .cmd(scan)
        .arg(keys.key(name))
        .arg(after)
        .arg("COUNT")
        .arg(PAGE_ENTRIES)
        .exists(keys.key("config"));
    let ask = async |mut link: Sender| asked.query_async(&mut link).await.map_err(failed);
    let ((after, pairs), known): ((String, Vec<(String, String)>), bool) = line.connection.call(ask).await?;
    if !known {
        return Err(LineError::Unknown);
    }
    let mut page = Page::default();
    for (member, value) in pairs {
        let id = entry_id(&member)?;
        if *name == "ended" {
            page.ends.push(parse(id, &value)?);
        } else {
            page.spots.push((id, spot(name, &value)?));
        }
    }
    page.next = if after == "0" {
        let set = from.set + 1;
        (set < SETS.len()).then(|| Cursor {
            set,
            ..Cursor::default()
        })
    } else {
        Some(Cursor { set: from.set, after })
    };
    Ok(page)
}

fn spot(name: &str, value: &str) -> Result<Spot, LineError> {
    let score = whole(value);
    let deadline = score.and_then(DeadlineScore::from_raw);
    let spot = match name {
        "waiting" => score.and_then(WaitScore::from_raw).map(Spot::Waiting),
        "ready" => deadline.map(Spot::Ready),
        _ => deadline.map(Spot::Active),
    };
    spot.ok_or_else(|| LineError::Nonsense(format!("the sorted set `{name}` has the invalid score {value}")))
}
