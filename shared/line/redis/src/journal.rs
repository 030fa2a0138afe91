//! The journal: an outbox of changes that the backup does not have yet. This file defines the form of its
//! records and reads them.
//!
//! | record | contains | written by |
//! | --- | --- | --- |
//! | tick | what one tick did to many entries | `promote.lua`, [`tick_fields`] |
//! | change | one change that the backup did not take | [`fields`] |
//!
//! A record that the backup refused also has the fields `tries` and `retry_at_ms`.

use std::collections::HashMap;

use redis::streams::StreamRangeReply;
use vestibule_domain::{
    change::{Change, End, Event, Version},
    id::QueueId,
    score::{Visit, WaitScore},
};
use vestibule_line::{JournalRecord, LineError};

use super::{
    RedisLine,
    connect::{Sender, failed},
    end,
    keys::Keys,
    reply::{Fields, entry_id, whole},
    restore::server_us,
};

/// A read of the journal ends after it skipped this many records that are not due yet.
const PASSED_OVER_MAX: usize = 1_000;

pub(super) async fn read(
    line: &RedisLine,
    queue: &QueueId,
    most: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (mut due, mut passed_over) = (Vec::new(), 0);
    let (mut from, mut clock_ms) = ("-".to_owned(), None);
    loop {
        let page = page(line, queue, "journal", &from, most).await?;
        let is_last = page.len() < most || most == 0;
        for record in page {
            from = format!("({}", record.key);
            if record.retry_at_ms > 0 {
                let now_ms = match clock_ms {
                    Some(now_ms) => now_ms,
                    None => *clock_ms.insert(server_us(line).await? / 1_000),
                };
                if record.retry_at_ms > now_ms {
                    passed_over += 1;
                    continue;
                }
            }
            due.push(record);
            if due.len() == most {
                return Ok(due);
            }
        }
        if is_last || passed_over >= PASSED_OVER_MAX {
            return Ok(due);
        }
    }
}

/// Reads at most `most` records of a stream, from the id `from` on, due or not.
pub(super) async fn page(
    line: &RedisLine,
    queue: &QueueId,
    stream: &str,
    from: &str,
    most: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (stream, config) = (Keys::new(queue).key(stream), Keys::new(queue).key("config"));
    let mut asked = redis::pipe();
    asked
        .cmd("XRANGE")
        .arg(stream)
        .arg(&[from, "+", "COUNT"])
        .arg(most)
        .cmd("EXISTS")
        .arg(config);
    let ask = async |mut link: Sender| asked.query_async(&mut link).await.map_err(failed);
    let (records, known): (StreamRangeReply, bool) = line.connection.call(ask).await?;
    if !known {
        return Err(LineError::Unknown);
    }
    let records = records.ids.into_iter();
    Ok(records.map(|record| parse(record.id, record.map)).collect())
}

/// Parses one record of a stream. If that fails, the record carries the error in `unreadable`, so that the
/// other records are still read.
pub(super) fn parse(key: String, map: HashMap<String, redis::Value>) -> JournalRecord {
    let mut record = JournalRecord {
        key,
        changes: Vec::new(),
        tries: 0,
        retry_at_ms: 0,
        unreadable: None,
    };
    let read = fields_of(map).and_then(|fields| read_into(&mut record, &fields));
    record.unreadable = read.err().map(|error| error.to_string());
    record
}

fn fields_of(map: HashMap<String, redis::Value>) -> Result<Fields, LineError> {
    let text = |value| redis::from_redis_value::<String>(value).map_err(|_| nonsense("a value that is text"));
    let fields = map
        .into_iter()
        .map(|(field, value)| Ok((field, text(value)?)))
        .collect::<Result<_, LineError>>()?;
    Ok(Fields::new("a journal record", fields))
}

fn read_into(record: &mut JournalRecord, fields: &Fields) -> Result<(), LineError> {
    let changes = if fields.text("event")? == "tick" {
        tick(fields)?
    } else {
        vec![change(fields)?]
    };
    if fields.has("tries") {
        (record.tries, record.retry_at_ms) = (fields.number("tries")?, fields.number("retry_at_ms")?);
    }
    record.changes = changes;
    Ok(())
}

/// Encodes the remaining changes of a tick in the form that [`tick`] reads.
pub(super) fn tick_fields(changes: &[Change]) -> Vec<String> {
    let (mut no_shows, mut expired, mut promoted) = (Vec::new(), Vec::new(), Vec::new());
    let mut claim_by_ms_of_all = 0;
    for change in changes {
        let member = change.id.to_member();
        match change.event {
            Event::Promoted { score, claim_by_ms } => {
                promoted.push(format!("{member} {}", score.raw()));
                claim_by_ms_of_all = claim_by_ms;
            }
            Event::Ended {
                visit,
                how: End::NoShow,
            } => no_shows.push(format!("{member} {}", visit.number())),
            // Besides promotions and no-shows, a tick only ends sessions that ran out.
            event => expired.push(format!("{member} {}", event.visit().number())),
        }
    }
    // All changes of a tick have the same version and time.
    let one = changes.first().map(|one| (one.version, one.at_ms));
    let (version, at_ms) = one.unwrap_or_default();
    [
        ("event", "tick".to_owned()),
        ("epoch", version.epoch.to_string()),
        ("v", version.v.to_string()),
        ("at_ms", at_ms.to_string()),
        ("claim_by_ms", claim_by_ms_of_all.to_string()),
        ("no_shows", no_shows.join(" ")),
        ("expired", expired.join(" ")),
        ("promoted", promoted.join(" ")),
    ]
    .into_iter()
    .flat_map(|(field, value)| [field.to_owned(), value])
    .collect()
}

/// Decodes a tick. Each of its three lists is `member number member number …`; the number is a visit, or the
/// score of a promoted entry.
fn tick(fields: &Fields) -> Result<Vec<Change>, LineError> {
    let version = version(fields)?;
    let (at_ms, claim_by_ms) = (fields.number("at_ms")?, fields.number("claim_by_ms")?);
    let mut changes = Vec::new();
    for list in ["no_shows", "expired", "promoted"] {
        let mut words = fields.text(list)?.split(' ').filter(|word| !word.is_empty());
        while let (Some(member), Some(number)) = (words.next(), words.next()) {
            let number = whole(number).ok_or_else(|| nonsense("an integer behind a member"))?;
            let ended = |how| visit(number).map(|visit| Event::Ended { visit, how });
            let event = match list {
                "no_shows" => ended(End::NoShow)?,
                "expired" => ended(End::Expired)?,
                _ => Event::Promoted {
                    score: score(number)?,
                    claim_by_ms,
                },
            };
            changes.push(Change {
                id: entry_id(member)?,
                version,
                at_ms,
                event,
            });
        }
    }
    Ok(changes)
}

/// Encodes one change as the fields of a record.
pub(super) fn fields(change: &Change) -> Vec<String> {
    let (event, number, deadline_ms) = match change.event {
        Event::Entered { score } => ("entered", score.raw(), 0),
        Event::FastTracked {
            score,
            session_end_ms,
        } => ("fast-tracked", score.raw(), session_end_ms),
        Event::Promoted { score, claim_by_ms } => ("promoted", score.raw(), claim_by_ms),
        Event::StillReady { visit, claim_by_ms } => ("still-ready", visit.number().into(), claim_by_ms),
        Event::Claimed {
            visit,
            session_end_ms,
        } => ("claimed", visit.number().into(), session_end_ms),
        Event::Extended {
            visit,
            session_end_ms,
        } => ("extended", visit.number().into(), session_end_ms),
        Event::Ended { visit, how } => (how.name(), visit.number().into(), 0),
    };
    [
        ("event", event.to_owned()),
        ("epoch", change.version.epoch.to_string()),
        ("v", change.version.v.to_string()),
        ("at_ms", change.at_ms.to_string()),
        ("member", change.id.to_member()),
        ("number", number.to_string()),
        ("deadline_ms", deadline_ms.to_string()),
    ]
    .into_iter()
    .flat_map(|(field, value)| [field.to_owned(), value])
    .collect()
}

/// Decodes what [`fields`] encodes.
fn change(fields: &Fields) -> Result<Change, LineError> {
    let (number, deadline_ms) = (fields.number("number")?, fields.number("deadline_ms")?);
    let event = match fields.text("event")? {
        "entered" => Event::Entered {
            score: score(number)?,
        },
        "fast-tracked" => Event::FastTracked {
            score: score(number)?,
            session_end_ms: deadline_ms,
        },
        "promoted" => Event::Promoted {
            score: score(number)?,
            claim_by_ms: deadline_ms,
        },
        "still-ready" => Event::StillReady {
            visit: visit(number)?,
            claim_by_ms: deadline_ms,
        },
        "claimed" => Event::Claimed {
            visit: visit(number)?,
            session_end_ms: deadline_ms,
        },
        "extended" => Event::Extended {
            visit: visit(number)?,
            session_end_ms: deadline_ms,
        },
        other => match end::named(other) {
            Some(how) => Event::Ended {
                visit: visit(number)?,
                how,
            },
            None => return Err(nonsense(&format!("a known event (it has `{other}`)"))),
        },
    };
    let id = entry_id(fields.text("member")?)?;
    Ok(Change {
        id,
        version: version(fields)?,
        at_ms: fields.number("at_ms")?,
        event,
    })
}

fn version(fields: &Fields) -> Result<Version, LineError> {
    Ok(Version {
        epoch: fields.number("epoch")?,
        v: fields.number("v")?,
    })
}

fn score(raw: u64) -> Result<WaitScore, LineError> {
    WaitScore::from_raw(raw).ok_or_else(|| nonsense("a valid score"))
}

fn visit(number: u64) -> Result<Visit, LineError> {
    Visit::new(number).ok_or_else(|| nonsense("a valid visit"))
}

fn nonsense(wanted: &str) -> LineError {
    LineError::Nonsense(format!("a journal record lacks {wanted}"))
}
