//! The form of a journal record.
//!
//! | record | contains | written by |
//! | --- | --- | --- |
//! | tick | what one tick did to many entries | `promote.lua`, [`encode_tick`] |
//! | change | one change that the backup did not take | [`encode_change`] |
//!
//! A record that the backup refused also has the fields `tries` and `retry_at_ms`.

mod record_fields;
mod tick;

use vestibule_domain::{
    change::{Change, EndReason, Event},
    fact::{Step, Turn},
    id::Source,
    score::Visit,
};

use crate::LineError;

pub(super) use self::tick::encode_tick;
use self::{
    record_fields::{decode_version, parse_end_fact, protocol_error, to_field_list},
    tick::decode_tick,
};
use super::{
    fields::Fields,
    places::{format_place, parse_place},
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

/// Encodes one change as the fields of a record: always ten of them, on which
/// `requeue_with_backoff.lua` relies.
pub(super) fn encode_change(change: &Change) -> Vec<String> {
    let end_name;
    let event = match change.event {
        Event::Entered { .. } => "entered",
        Event::FastTracked { .. } => "fast-tracked",
        Event::CameBack { .. } => "came-back",
        Event::LaneMoved { .. } => "lane-moved",
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
    // A place contains its visit, or names it.
    let number = change.event.place().map(format_place);
    let number = number.unwrap_or_else(|| fact.visit.number().to_string());
    to_field_list([
        ("event", event.to_owned()),
        ("epoch", change.version.epoch.to_string()),
        ("v", change.version.v.to_string()),
        ("at_ms", change.at_ms.to_string()),
        ("member", change.id.to_member()),
        ("number", number),
        ("step", fact.step.number().to_string()),
        ("step_ms", fact.step_ms.to_string()),
        ("after", after.map_or(0, Visit::number).to_string()),
        ("source", source.unwrap_or_else(|| NO_SOURCE.to_owned())),
    ])
}

/// Decodes what [`encode_change`] encodes.
fn decode_change(fields: &Fields) -> Result<Change, LineError> {
    let (number, step_ms) = (fields.text("number")?, fields.number("step_ms")?);
    let step: u64 = fields.number("step")?;
    let place = || parse_place(number).ok_or_else(|| protocol_error("a valid place"));
    let visit_number = || fields.number("number");
    let visit = || Visit::new(visit_number()?).ok_or_else(|| protocol_error("a valid visit"));
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
        "lane-moved" => Event::LaneMoved {
            place: place()?,
            turn: match Step::new(step) {
                Some(Step::Waiting) => Turn::First,
                Some(Step::WaitingAgain) => Turn::Second,
                _ => return Err(protocol_error("the step of a waiting entry")),
            },
            moved_at_ms: step_ms,
        },
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
            let (fact, how) = parse_end_fact(visit_number()?, step, step_ms, name)?;
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

fn decode_source(fields: &Fields) -> Result<Option<Source>, LineError> {
    match fields.text("source")? {
        NO_SOURCE => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| protocol_error("a valid source")),
    }
}

#[cfg(test)]
mod tests;
