//! The form of a journal record.
//!
//! | record | contains | written by |
//! | --- | --- | --- |
//! | tick | what one tick did to many entries | `promote.lua`, [`encode_tick`] |
//! | change | one change that the backup did not take | [`encode_change`] |
//!
//! A record that the backup refused also has the fields `tries` and `retry_at_ms`.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    fact::{Fact, Step, Turn},
    id::Source,
    score::{Visit, WaitScore},
};
use vestibule_line::LineError;

use super::{
    end::read_end_fact,
    fields::{Fields, parse_integer},
    reply::parse_entry_id,
};

/// The source of a change that has none. No field is empty, because a deferred record is a list of words.
const NO_SOURCE: &str = "-";

/// Decodes the changes of a record.
pub(super) fn decode_record(fields: &Fields) -> Result<Vec<Change>, LineError> {
    if fields.text("event")? == "tick" {
        decode_tick(fields)
    } else {
        Ok(vec![decode_change(fields)?])
    }
}

/// Encodes the remaining changes of a tick in the form that [`decode_tick`] reads.
pub(super) fn encode_tick(changes: &[Change]) -> Vec<String> {
    let (mut no_shows, mut expired) = (Vec::new(), Vec::new());
    let (mut absences, mut evicted) = (Vec::new(), Vec::new());
    let (mut promoted, mut promoted_again) = (Vec::new(), Vec::new());
    let mut claim_by_ms_of_all = 0;
    for change in changes {
        let (list, of_entry) = match change.event {
            Event::Promoted {
                place,
                turn,
                claim_by_ms,
            } => {
                claim_by_ms_of_all = claim_by_ms;
                let list = match turn {
                    Turn::First => &mut promoted,
                    Turn::Second => &mut promoted_again,
                };
                (list, place.raw().to_string())
            }
            // Besides promotions, a tick only ends what ran out. An eviction of many entries has the same form.
            event => {
                let fact = event.fact();
                let list = match event {
                    Event::Ended {
                        how: EndReason::NoShow,
                        ..
                    } => &mut no_shows,
                    Event::Ended {
                        how: EndReason::Absence,
                        ..
                    } => &mut absences,
                    Event::Ended {
                        how: EndReason::Evicted,
                        ..
                    } => &mut evicted,
                    _ => &mut expired,
                };
                let (visit, step) = (fact.visit.number(), fact.step.number());
                (list, format!("{visit} {step} {}", fact.step_ms))
            }
        };
        list.push(format!("{} {of_entry}", change.id.to_member()));
    }
    // All changes of a tick have the same version and time.
    let one = changes.first().map(|one| (one.version, one.at_ms));
    let (version, at_ms) = one.unwrap_or_default();
    to_field_list([
        ("event", "tick".to_owned()),
        ("epoch", version.epoch.to_string()),
        ("v", version.v.to_string()),
        ("at_ms", at_ms.to_string()),
        ("claim_by_ms", claim_by_ms_of_all.to_string()),
        ("no_shows", no_shows.join(" ")),
        ("expired", expired.join(" ")),
        ("absences", absences.join(" ")),
        ("evicted", evicted.join(" ")),
        ("promoted", promoted.join(" ")),
        ("promoted_again", promoted_again.join(" ")),
    ])
}

/// Decodes a tick. The lists of ends are `member visit step step_ms …`, and those of promotions are
/// `member place …`.
fn decode_tick(fields: &Fields) -> Result<Vec<Change>, LineError> {
    let version = decode_version(fields)?;
    let (at_ms, claim_by_ms) = (fields.number("at_ms")?, fields.number("claim_by_ms")?);
    let mut changes = Vec::new();
    let mut push = |id, event| {
        changes.push(Change {
            id,
            version,
            at_ms,
            event,
            source: None,
        });
    };
    let lists = [
        ("no_shows", EndReason::NoShow),
        ("expired", EndReason::Expired),
        ("absences", EndReason::Absence),
        ("evicted", EndReason::Evicted),
    ];
    for (list, how) in lists {
        // A tick evicts no entry, and has no such list.
        if list == "evicted" && !fields.has(list) {
            continue;
        }
        let mut words = TickList::new(fields.text(list)?);
        while let Some(member) = words.next_word() {
            let (visit, step, step_ms) = (words.number()?, words.number()?, words.number()?);
            let (fact, how) = parse_end_fact(visit, step, step_ms, &how.name())?;
            push(parse_entry_id(member)?, Event::Ended { fact, how });
        }
    }
    for (list, turn) in [("promoted", Turn::First), ("promoted_again", Turn::Second)] {
        let mut words = TickList::new(fields.text(list)?);
        while let Some(member) = words.next_word() {
            let place = parse_place(words.number()?)?;
            push(
                parse_entry_id(member)?,
                Event::Promoted {
                    place,
                    turn,
                    claim_by_ms,
                },
            );
        }
    }
    Ok(changes)
}

/// The words of one list of a tick.
struct TickList<'a>(std::str::Split<'a, char>);

impl<'a> TickList<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.split(' '))
    }

    fn next_word(&mut self) -> Option<&'a str> {
        // An empty text is one empty word.
        self.0.next().filter(|word| !word.is_empty())
    }

    fn number(&mut self) -> Result<u64, LineError> {
        self.next_word()
            .and_then(parse_integer)
            .ok_or_else(|| protocol_error("an integer behind a member"))
    }
}

/// Encodes one change as the fields of a record: always ten of them, on which
/// `requeue_with_backoff.lua` relies.
pub(super) fn encode_change(change: &Change) -> Vec<String> {
    let end_name;
    let event = match change.event {
        Event::Entered { .. } => "entered",
        Event::FastTracked { .. } => "fast-tracked",
        Event::CameBack { .. } => "came-back",
        Event::Promoted { .. } => "promoted",
        Event::StillReady { .. } => "still-ready",
        Event::Claimed { .. } => "claimed",
        Event::Extended { .. } => "extended",
        Event::Ended { how, .. } => {
            end_name = how.name();
            &*end_name
        }
    };
    let after = match change.event {
        Event::Entered { after, .. } | Event::FastTracked { after, .. } => after,
        _ => None,
    };
    let source = change.source.map(|source| source.to_string());
    let fact = change.fact();
    // A place contains its visit.
    let number = change.event.place().map_or(fact.visit.number(), WaitScore::raw);
    to_field_list([
        ("event", event.to_owned()),
        ("epoch", change.version.epoch.to_string()),
        ("v", change.version.v.to_string()),
        ("at_ms", change.at_ms.to_string()),
        ("member", change.id.to_member()),
        ("number", number.to_string()),
        ("step", fact.step.number().to_string()),
        ("step_ms", fact.step_ms.to_string()),
        ("after", after.map_or(0, Visit::number).to_string()),
        ("source", source.unwrap_or_else(|| NO_SOURCE.to_owned())),
    ])
}

/// Decodes what [`encode_change`] encodes.
fn decode_change(fields: &Fields) -> Result<Change, LineError> {
    let (number, step_ms) = (fields.number("number")?, fields.number("step_ms")?);
    let step: u64 = fields.number("step")?;
    let place = || parse_place(number);
    let visit = || Visit::new(number).ok_or_else(|| protocol_error("a valid visit"));
    let turn = || match Step::new(step) {
        Some(Step::Ready) => Ok(Turn::First),
        Some(Step::ReadyAgain) => Ok(Turn::Second),
        _ => Err(protocol_error("the step of a ready entry")),
    };
    let after = Visit::new(fields.number("after")?).filter(|after| after.number() > 0);
    let event = match fields.text("event")? {
        "entered" => Event::Entered {
            place: place()?,
            after,
        },
        "fast-tracked" => Event::FastTracked {
            place: place()?,
            session_end_ms: step_ms,
            after,
            claimed_at_ms: None,
        },
        "came-back" => Event::CameBack { place: place()? },
        "promoted" => Event::Promoted {
            place: place()?,
            turn: turn()?,
            claim_by_ms: step_ms,
        },
        "still-ready" => Event::StillReady {
            visit: visit()?,
            turn: turn()?,
            claim_by_ms: step_ms,
        },
        "claimed" => Event::Claimed {
            visit: visit()?,
            session_end_ms: step_ms,
        },
        "extended" => Event::Extended {
            visit: visit()?,
            session_end_ms: step_ms,
        },
        name if EndReason::from_name(name).is_some() => {
            let (fact, how) = parse_end_fact(number, step, step_ms, name)?;
            Event::Ended { fact, how }
        }
        other => return Err(protocol_error(&format!("a known event (it has `{other}`)"))),
    };
    Ok(Change {
        id: parse_entry_id(fields.text("member")?)?,
        version: decode_version(fields)?,
        at_ms: fields.number("at_ms")?,
        event,
        source: decode_source(fields)?,
    })
}

/// The source of a change. A record of an earlier release has no such field.
fn decode_source(fields: &Fields) -> Result<Option<Source>, LineError> {
    match fields.text("source") {
        Err(_) | Ok(NO_SOURCE) => Ok(None),
        Ok(text) => text
            .parse()
            .map(Some)
            .map_err(|_| protocol_error("a valid source")),
    }
}

fn decode_version(fields: &Fields) -> Result<Version, LineError> {
    Ok(Version {
        epoch: fields.number("epoch")?,
        v: fields.number("v")?,
    })
}

fn to_field_list<const N: usize>(fields: [(&str, String); N]) -> Vec<String> {
    fields
        .into_iter()
        .flat_map(|(field, value)| [field.to_owned(), value])
        .collect()
}

fn parse_place(raw: u64) -> Result<WaitScore, LineError> {
    WaitScore::from_raw(raw).ok_or_else(|| protocol_error("a valid place"))
}

fn parse_end_fact(visit: u64, step: u64, step_ms: u64, name: &str) -> Result<(Fact, EndReason), LineError> {
    read_end_fact(visit, step, step_ms, name).ok_or_else(|| protocol_error("a valid end"))
}

fn protocol_error(wanted: &str) -> LineError {
    LineError::Protocol(format!("a journal record lacks {wanted}"))
}

#[cfg(test)]
mod tests;
