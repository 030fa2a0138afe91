//! Reads the end of a visit. The scripts write it into the hash `ended`, in the form
//! `epoch v visit step step_ms how at_ms`, where `how` is [`EndReason::name`].

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    fact::{Fact, Step},
    id::EntryId,
    score::Visit,
};

use crate::LineError;

/// Parses one value of the hash `ended`.
pub(super) fn parse_end(id: EntryId, text: &str) -> Result<Change, LineError> {
    parse_end_fields(id, text)
        .ok_or_else(|| LineError::Protocol(format!("cannot read the end of entry {id}: {text}")))
}

fn parse_end_fields(id: EntryId, text: &str) -> Option<Change> {
    let mut words = text.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    let version = Version {
        epoch: number()?.try_into().ok()?,
        v: number()?,
    };
    let (visit, step, step_ms) = (number()?, number()?, number()?);
    let (fact, how) = read_end_fact(visit, step, step_ms, words.next()?)?;
    let at_ms = words.next()?.parse().ok()?;
    Some(Change {
        id,
        version,
        at_ms,
        event: Event::Ended { fact, how },
        source: None,
    })
}

/// The fact of an end, and the way in which the visit ended. Only a wait, a turn or a session runs out, so
/// the name of the way tells whether the fact is over. `None` if the numbers and the name do not
/// fit together.
pub(super) fn read_end_fact(visit: u64, step: u64, step_ms: u64, name: &str) -> Option<(Fact, EndReason)> {
    let how = EndReason::from_name(name)?;
    let fact = Fact {
        visit: Visit::new(visit)?,
        step: Step::new(step)?,
        step_ms,
        is_over: how.is_timeout(),
    };
    how.fits(fact).then_some((fact, how))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_with_a_step_that_does_not_fit_is_unreadable() {
        let id = "0f8fad5b-d9cb-869f-a165-70867728950e"
            .parse()
            .expect("an entry id");
        let end = parse_end(id, "2 1795260581079001 77 3 1795260641079 no-show 1795260641080");
        let end = end.expect("the second turn was missed");
        assert_eq!(
            end.version,
            Version {
                epoch: 2,
                v: 1_795_260_581_079_001
            }
        );
        assert_eq!(end.at_ms, 1_795_260_641_080);
        let fact = Fact {
            visit: Visit::new(77).expect("a visit"),
            step: Step::ReadyAgain,
            step_ms: 1_795_260_641_079,
            is_over: true,
        };
        assert_eq!(
            end.event,
            Event::Ended {
                fact,
                how: EndReason::NoShow
            }
        );
        for text in [
            "",
            "2 1 77 4 5 no-show 6",
            "2 1 77 3 5 expired 6",
            "2 1 77 6 5 left 6",
            "2 1 77 6 0 gone 6",
            "2 1 77 6 0 left",
        ] {
            assert!(parse_end(id, text).is_err(), "{text}");
        }
    }
}
