//! The kinds of changes in the journal, which holds at most one record of each entry and kind.

use vestibule_domain::change::{Change, Event};

/// The kind of a single change in the journal. No kind has what another one tells the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ChangeKind {
    /// The place in line.
    Place,
    /// The place after a move to another lane.
    Lane,
    /// The place, and the time of the promotion.
    Turn,
    /// The time of the claim.
    Claim,
    /// The last deadline.
    Deadline,
    /// The end.
    End,
}

impl ChangeKind {
    /// The kind of a change with this event. A repeated claim may count as a deadline instead.
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Entered { .. } | Event::FastTracked { .. } | Event::CameBack { .. } => Self::Place,
            Event::LaneMoved { .. } => Self::Lane,
            Event::Promoted { .. } => Self::Turn,
            Event::Claimed { .. } => Self::Claim,
            Event::StillReady { .. } | Event::Extended { .. } => Self::Deadline,
            Event::Ended { .. } => Self::End,
        }
    }

    /// The name of the kind in Redis.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Lane => "lane",
            Self::Turn => "turn",
            Self::Claim => "claim",
            Self::Deadline => "deadline",
            Self::End => "end",
        }
    }
}

/// Whether a new change replaces the one that the journal has of the same entry and kind. The
/// greater fact counts. A provisional visit that the line has dropped since then is the exception.
pub(super) fn replaces(new: &Change, old: &Change) -> bool {
    let (new_fact, old_fact) = (new.fact(), old.fact());
    if new_fact == old_fact {
        return after(new) > after(old);
    }
    let has_dropped =
        old.event.is_provisional() && new_fact.visit < old_fact.visit && new.version > old.version;
    new_fact > old_fact || has_dropped
}

/// The change with what the one that it replaces knew of visits that are over, and of its own visit's source.
pub(super) fn inherit(mut new: Change, old: &Change) -> Change {
    if new.event.visit() == old.event.visit() {
        new.source = new.source.or(old.source);
    }
    if let Event::Entered { after: own, .. } | Event::FastTracked { after: own, .. } = &mut new.event {
        *own = (*own).max(after(old));
    }
    new
}

fn after(change: &Change) -> Option<vestibule_domain::score::Visit> {
    match change.event {
        Event::Entered { after, .. } | Event::FastTracked { after, .. } => after,
        _ => None,
    }
}
