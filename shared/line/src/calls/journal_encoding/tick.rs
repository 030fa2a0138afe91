//! The record of a tick: what it did to many entries.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    fact::Turn,
};

use super::record_fields::{decode_version, parse_end_fact, protocol_error, to_field_list};
use crate::{
    LineError,
    calls::{
        fields::{Fields, parse_integer},
        places::{format_place, parse_place},
        reply::parse_entry_id,
    },
};

/// Encodes the remaining changes of a tick in the form that [`decode_tick`] reads.
pub(crate) fn encode_tick(changes: &[Change]) -> Vec<String> {
    let (mut no_shows, mut expired) = (Vec::new(), Vec::new());
    let (mut absences, mut evicted, mut dismissed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut overlong_waits, mut left) = (Vec::new(), Vec::new());
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
                (list, format_place(place))
            }
            // Besides promotions, a tick ends what ran out, and the waits of visitors who closed the page. An eviction of
            // many entries has the same form.
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
                    Event::Ended {
                        how: EndReason::OverlongWait,
                        ..
                    } => &mut overlong_waits,
                    Event::Ended {
                        how: EndReason::Dismissed,
                        ..
                    } => &mut dismissed,
                    Event::Ended {
                        how: EndReason::Left, ..
                    } => &mut left,
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
        ("overlong_waits", overlong_waits.join(" ")),
        ("dismissed", dismissed.join(" ")),
        ("left", left.join(" ")),
        ("promoted", promoted.join(" ")),
        ("promoted_again", promoted_again.join(" ")),
    ])
}

/// Decodes a tick. The lists of ends are `member visit step step_ms …`, and those of promotions are
/// `member place …`.
pub(super) fn decode_tick(fields: &Fields) -> Result<Vec<Change>, LineError> {
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
        ("overlong_waits", EndReason::OverlongWait),
        ("dismissed", EndReason::Dismissed),
        ("left", EndReason::Left),
    ];
    for (list, how) in lists {
        // A tick evicts no entry and an eviction ends no other one, so each lacks a list of the other.
        let may_be_missing = matches!(
            how,
            EndReason::Evicted | EndReason::OverlongWait | EndReason::Dismissed | EndReason::Left
        );
        if may_be_missing && !fields.has(list) {
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
            let place = words.next_word().and_then(parse_place);
            let place = place.ok_or_else(|| protocol_error("a valid place"))?;
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
