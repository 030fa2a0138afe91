//! How two accounts of one entry are reconciled: the line's and the backup's. All code that finds
//! them different decides by this table.

use super::{
    fact::{Fact, Step},
    score::{Visit, WaitScore},
};

/// What to do about one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The two accounts agree, or both say that the entry has no place.
    Agree,
    /// The line takes over the fact of the record.
    Adopt,
    /// The backup gets the fact of the line.
    Write,
}

/// Compares what the line knows of an entry (`None`: nothing) with the fact of its record (`None`:
/// no record). The greater fact wins. An end that only the backup has needs no action, because the
/// line keeps ends for a short time; but a slot that is held counts.
pub fn reconcile(line: Option<Fact>, record: Option<Fact>) -> Verdict {
    match (line, record) {
        (None, Some(record)) if record.is_live() || record.step == Step::Held => Verdict::Adopt,
        (None, _) => Verdict::Agree,
        (Some(line), Some(record)) if line.agrees_with(record) => Verdict::Agree,
        (Some(line), Some(record)) if line < record => Verdict::Adopt,
        (Some(_), _) => Verdict::Write,
    }
}

/// What becomes of a provisional place: one that `enter` gave and that the backup does not have yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisional {
    /// No earlier visit is in the way, so the place stands.
    Stands,
    /// An earlier visit is still live, and replaces the provisional one.
    Continues(Fact),
    /// The visitor missed the first turn of an earlier visit and came back within the grace. The
    /// fact of waiting again replaces the provisional visit.
    ComesBack(Fact),
    /// The known fact is of the same visit, or of a later one that goes on. The greater fact wins,
    /// as always.
    Compared,
    /// A later visit of the entry is over. Its number shows how far the order had advanced before
    /// the line lost that. The visitor has to be given a new place.
    Outdated(Fact),
}

/// Decides about a provisional place from the greatest known fact of the entry before it (`None`:
/// there is none). `after` is the latest visit that the line knows to be over.
pub fn resolve_provisional(
    place: WaitScore,
    after: Option<Visit>,
    known: Option<Fact>,
    grace_seconds: u32,
) -> Provisional {
    let Some(known) = known else {
        return Provisional::Stands;
    };
    let visit = place.visit();
    if known.visit == visit || (known.visit > visit && known.is_live()) {
        return Provisional::Compared;
    }
    if known.visit > visit {
        return Provisional::Outdated(known);
    }
    if after.is_some_and(|after| after >= known.visit) {
        return Provisional::Stands;
    }
    if known.is_live() {
        return Provisional::Continues(known);
    }
    let is_in_grace = known.is_missed_turn()
        && known
            .grace_until_ms(grace_seconds)
            .is_some_and(|until_ms| place.joined_at_ms() <= until_ms);
    if is_in_grace {
        return Provisional::ComesBack(Fact::waiting(known.visit, super::fact::Turn::Second));
    }
    Provisional::Stands
}

#[cfg(test)]
mod tests;
