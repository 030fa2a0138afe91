//! What becomes of a provisional place. Of two accounts of an entry the greater fact wins: see [`fact`](crate::fact).

use super::{
    fact::Fact,
    score::{Visit, WaitScore},
};

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
