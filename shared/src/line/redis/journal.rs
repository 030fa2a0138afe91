//! The journal: what its records look like, and reading them.
//!
//! A record is either what one tick did to many entries, as `promote.lua` writes it, or one change that the backup did
//! not take, as [`fields`] writes it.

use std::collections::HashMap;

use redis::streams::StreamRangeReply;

use super::{
    RedisLine,
    connect::{Sender, failed},
    keys::Keys,
    reply::{Fields, entry_id, whole},
};
use crate::{
    domain::{
        change::{Change, End, Event, Version},
        id::QueueId,
        score::{Visit, WaitScore},
    },
    line::{JournalRecord, LineError},
};

pub(super) async fn read(
    line: &RedisLine,
    queue: &QueueId,
    most: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (journal, config) = (Keys::new(queue).key("journal"), Keys::new(queue).key("config"));
    let mut asked = redis::pipe();
    asked
        .cmd("XRANGE")
        .arg(journal)
        .arg(&["-", "+", "COUNT"])
        .arg(most)
        .cmd("EXISTS")
        .arg(config);
    let ask = async |mut link: Sender| asked.query_async(&mut link).await.map_err(failed);
    let (records, known): (StreamRangeReply, bool) = line.connection.call(ask).await?;
    if !known {
        return Err(LineError::Unknown);
    }
    records
        .ids
        .into_iter()
        .map(|record| parse(record.id, record.map))
        .collect()
}

/// The changes of a record of the stream.
pub(super) fn parse(key: String, map: HashMap<String, redis::Value>) -> Result<JournalRecord, LineError> {
    let text = |value| redis::from_redis_value::<String>(value).map_err(|_| nonsense("a text"));
    let fields = map
        .into_iter()
        .map(|(field, value)| Ok((field, text(value)?)))
        .collect::<Result<_, LineError>>()?;
    let fields = Fields::new("a journal record", fields);
    let changes = if fields.text("event")? == "tick" {
        tick(&fields)?
    } else {
        vec![change(&fields)?]
    };
    Ok(JournalRecord { key, changes })
}

/// What a tick did: lists of `member number member number …`.
fn tick(fields: &Fields) -> Result<Vec<Change>, LineError> {
    let version = version(fields)?;
    let (at_ms, claim_by_ms) = (fields.number("at_ms")?, fields.number("claim_by_ms")?);
    let mut changes = Vec::new();
    for list in ["no_shows", "expired", "promoted"] {
        let mut words = fields.text(list)?.split(' ').filter(|word| !word.is_empty());
        while let (Some(member), Some(number)) = (words.next(), words.next()) {
            let number = whole(number).ok_or_else(|| nonsense("a number"))?;
            let event = if list == "promoted" {
                Event::Promoted {
                    score: score(number)?,
                    claim_by_ms,
                }
            } else {
                Event::Ended {
                    visit: visit(number)?,
                    how: End::Expired,
                }
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

/// One change as the fields of a record.
pub(super) fn fields(change: &Change) -> Vec<String> {
    let (event, number, deadline_ms) = match change.event {
        Event::Entered { score } => ("entered", score.raw(), 0),
        Event::FastTracked {
            score,
            session_end_ms,
        } => ("fast-tracked", score.raw(), session_end_ms),
        Event::Promoted { score, claim_by_ms } => ("promoted", score.raw(), claim_by_ms),
        Event::Claimed {
            visit,
            session_end_ms,
        } => ("claimed", visit.number().into(), session_end_ms),
        Event::Extended {
            visit,
            session_end_ms,
        } => ("extended", visit.number().into(), session_end_ms),
        Event::Ended {
            visit,
            how: End::Completed,
        } => ("completed", visit.number().into(), 0),
        Event::Ended {
            visit,
            how: End::Left,
        } => ("left", visit.number().into(), 0),
        Event::Ended {
            visit,
            how: End::Expired,
        } => ("expired", visit.number().into(), 0),
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

/// Back from [`fields`].
fn change(fields: &Fields) -> Result<Change, LineError> {
    let (number, deadline_ms) = (fields.number("number")?, fields.number("deadline_ms")?);
    let ended = |how| visit(number).map(|visit| Event::Ended { visit, how });
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
        "claimed" => Event::Claimed {
            visit: visit(number)?,
            session_end_ms: deadline_ms,
        },
        "extended" => Event::Extended {
            visit: visit(number)?,
            session_end_ms: deadline_ms,
        },
        "completed" => ended(End::Completed)?,
        "left" => ended(End::Left)?,
        "expired" => ended(End::Expired)?,
        other => return Err(nonsense(&format!("an event ({other})"))),
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
    WaitScore::from_raw(raw).ok_or_else(|| nonsense("a score"))
}

fn visit(number: u64) -> Result<Visit, LineError> {
    Visit::new(number).ok_or_else(|| nonsense("a visit"))
}

fn nonsense(wanted: &str) -> LineError {
    LineError::Nonsense(format!("a journal record lacks {wanted}"))
}
