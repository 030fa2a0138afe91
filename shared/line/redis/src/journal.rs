//! The journal: an outbox of changes that the backup does not have yet. This file defines the form
//! of its records and reads them.
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
    change::{Change, EndReason, Event, Version},
    id::QueueId,
    score::{Visit, WaitScore},
};
use vestibule_line::{JournalRecord, LineError};

use super::{
    RedisLine,
    connect::{CallLink, to_line_error},
    end,
    keys::Keys,
    reply::{Fields, parse_entry_id, parse_integer},
    restore::read_server_time_us,
};

/// A read of the journal ends after it skipped this many records that are not due yet.
const SKIPPED_MAX: usize = 1_000;

pub(super) async fn read_due_records(
    line: &RedisLine,
    queue: &QueueId,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (mut due, mut passed_over) = (Vec::new(), 0);
    let (mut from, mut clock_ms) = ("-".to_owned(), None);
    loop {
        let page = read_records(line, queue, "journal", &from, records_max).await?;
        let is_last = page.len() < records_max || records_max == 0;
        for record in page {
            from = format!("({}", record.key);
            if record.retry_at_ms > 0 {
                let now_ms = match clock_ms {
                    Some(now_ms) => now_ms,
                    None => *clock_ms.insert(read_server_time_us(line).await? / 1_000),
                };
                if record.retry_at_ms > now_ms {
                    passed_over += 1;
                    continue;
                }
            }
            due.push(record);
            if due.len() == records_max {
                return Ok(due);
            }
        }
        if is_last || passed_over >= SKIPPED_MAX {
            return Ok(due);
        }
    }
}

/// Reads at most `records_max` records of a stream, from the id `from` on, due or not.
pub(super) async fn read_records(
    line: &RedisLine,
    queue: &QueueId,
    stream: &str,
    from: &str,
    records_max: usize,
) -> Result<Vec<JournalRecord>, LineError> {
    let (stream, config) = (Keys::new(queue).key(stream), Keys::new(queue).key("config"));
    let mut pipeline = redis::pipe();
    pipeline
        .cmd("XRANGE")
        .arg(stream)
        .arg(&[from, "+", "COUNT"])
        .arg(records_max)
        .cmd("EXISTS")
        .arg(config);
    let send = async |mut link: CallLink| pipeline.query_async(&mut link).await.map_err(to_line_error);
    let (records, queue_exists): (StreamRangeReply, bool) = line.connection.call(send).await?;
    if !queue_exists {
        return Err(LineError::QueueNotFound);
    }
    let records = records.ids.into_iter();
    Ok(records
        .map(|record| parse_record(record.id, record.map))
        .collect())
}

/// Parses one record of a stream. If that fails, the record carries the error in `unreadable`, so
/// that the other records are still read.
pub(super) fn parse_record(key: String, map: HashMap<String, redis::Value>) -> JournalRecord {
    let mut record = JournalRecord {
        key,
        changes: Vec::new(),
        attempts: 0,
        retry_at_ms: 0,
        parse_error: None,
    };
    let read = read_fields(map).and_then(|fields| fill_record(&mut record, &fields));
    record.parse_error = read.err().map(|error| error.to_string());
    record
}

fn read_fields(map: HashMap<String, redis::Value>) -> Result<Fields, LineError> {
    let text =
        |value| redis::from_redis_value::<String>(value).map_err(|_| protocol_error("a value that is text"));
    let fields = map
        .into_iter()
        .map(|(field, value)| Ok((field, text(value)?)))
        .collect::<Result<_, LineError>>()?;
    Ok(Fields::new("a journal record", fields))
}

fn fill_record(record: &mut JournalRecord, fields: &Fields) -> Result<(), LineError> {
    let changes = if fields.text("event")? == "tick" {
        decode_tick(fields)?
    } else {
        vec![decode_change(fields)?]
    };
    if fields.has("tries") {
        (record.attempts, record.retry_at_ms) = (fields.number("tries")?, fields.number("retry_at_ms")?);
    }
    record.changes = changes;
    Ok(())
}

/// Encodes the remaining changes of a tick in the form that [`tick`] reads.
pub(super) fn encode_tick(changes: &[Change]) -> Vec<String> {
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
                how: EndReason::NoShow,
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

/// Decodes a tick. Each of its three lists is `member number member number …`; the number is a
/// visit, or the score of a promoted entry.
fn decode_tick(fields: &Fields) -> Result<Vec<Change>, LineError> {
    let version = parse_version(fields)?;
    let (at_ms, claim_by_ms) = (fields.number("at_ms")?, fields.number("claim_by_ms")?);
    let mut changes = Vec::new();
    for list in ["no_shows", "expired", "promoted"] {
        let mut words = fields.text(list)?.split(' ').filter(|word| !word.is_empty());
        while let (Some(member), Some(number)) = (words.next(), words.next()) {
            let number = parse_integer(number).ok_or_else(|| protocol_error("an integer behind a member"))?;
            let ended = |how| parse_visit(number).map(|visit| Event::Ended { visit, how });
            let event = match list {
                "no_shows" => ended(EndReason::NoShow)?,
                "expired" => ended(EndReason::Expired)?,
                _ => Event::Promoted {
                    score: parse_score(number)?,
                    claim_by_ms,
                },
            };
            changes.push(Change {
                id: parse_entry_id(member)?,
                version,
                at_ms,
                event,
            });
        }
    }
    Ok(changes)
}

/// Encodes one change as the fields of a record.
pub(super) fn encode_change(change: &Change) -> Vec<String> {
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
fn decode_change(fields: &Fields) -> Result<Change, LineError> {
    let (number, deadline_ms) = (fields.number("number")?, fields.number("deadline_ms")?);
    let event = match fields.text("event")? {
        "entered" => Event::Entered {
            score: parse_score(number)?,
        },
        "fast-tracked" => Event::FastTracked {
            score: parse_score(number)?,
            session_end_ms: deadline_ms,
        },
        "promoted" => Event::Promoted {
            score: parse_score(number)?,
            claim_by_ms: deadline_ms,
        },
        "still-ready" => Event::StillReady {
            visit: parse_visit(number)?,
            claim_by_ms: deadline_ms,
        },
        "claimed" => Event::Claimed {
            visit: parse_visit(number)?,
            session_end_ms: deadline_ms,
        },
        "extended" => Event::Extended {
            visit: parse_visit(number)?,
            session_end_ms: deadline_ms,
        },
        other => match end::parse_end_kind(other) {
            Some(how) => Event::Ended {
                visit: parse_visit(number)?,
                how,
            },
            None => return Err(protocol_error(&format!("a known event (it has `{other}`)"))),
        },
    };
    let id = parse_entry_id(fields.text("member")?)?;
    Ok(Change {
        id,
        version: parse_version(fields)?,
        at_ms: fields.number("at_ms")?,
        event,
    })
}

fn parse_version(fields: &Fields) -> Result<Version, LineError> {
    Ok(Version {
        epoch: fields.number("epoch")?,
        v: fields.number("v")?,
    })
}

fn parse_score(raw: u64) -> Result<WaitScore, LineError> {
    WaitScore::from_raw(raw).ok_or_else(|| protocol_error("a valid score"))
}

fn parse_visit(number: u64) -> Result<Visit, LineError> {
    Visit::new(number).ok_or_else(|| protocol_error("a valid visit"))
}

fn protocol_error(wanted: &str) -> LineError {
    LineError::Protocol(format!("a journal record lacks {wanted}"))
}
