//! What must hold of the report on a queue.

use vestibule_domain::score::WaitScore;
use vestibule_line::Report;

use super::{
    invariants::find_absent,
    rules::{Check, Moment, require},
};

/// The report counts what is there, names the first visitor who is not absent and the last one, and has the events since the
/// report before.
pub(super) fn require_report(report: &Report, before: &Moment, after: &Moment) -> Check {
    let dump = &after.dump;
    let absent = find_absent(dump);
    let counts = [
        ("waiting", report.waiting, dump.waiting.len()),
        ("ready", report.ready, dump.ready.len()),
        ("active", report.active, dump.active.len()),
        ("present", report.present, dump.present.len()),
        ("absent", report.absent, absent.len()),
    ];
    for (what, reported, count) in counts {
        require(usize::try_from(reported) == Ok(count), || {
            format!("{reported} are reported as {what} instead of {count}")
        })?;
    }
    let head = dump.waiting.iter().find(|entry| !absent.contains(entry));
    let places = [
        ("head", report.head, head),
        ("tail", report.tail, dump.waiting.last()),
    ];
    for (what, reported, entry) in places {
        let (reported, place) = (reported.map(WaitScore::raw), entry.map(|(_, place)| *place));
        // Before the opening, no place is the first one.
        let is_scheduled = what == "head" && reported.is_none() && after.settings().opens_at_ms.is_some();
        require(is_scheduled || reported == place, || {
            format!("the {what} is reported at {reported:?} instead of {place:?}")
        })?;
    }
    let events = &report.events;
    for (name, reported) in [
        ("entered", events.entered),
        ("promoted", events.promoted),
        ("completed", events.completed),
        ("left", events.left),
        ("expired", events.expired),
        ("no_shows", events.no_shows),
        ("absences", events.absences),
    ] {
        let since = after.total(name) - before.total(&format!("reported_{name}"));
        require(i64::try_from(reported) == Ok(since.max(0)), || {
            format!("{reported} {name} are reported instead of {since}")
        })?;
    }
    Ok(())
}
