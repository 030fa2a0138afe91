//! The position that the visitor sees. It never rises within a visit: `web/client/src/shown_position.ts`.

use vestibule_domain::state::EntryState;
use vestibule_wire::Entry;

/// A visit and its lowest position so far, which outlasts a reload of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LowestPosition {
    /// The number of the visit.
    pub visit: u64,
    /// The position.
    pub position: u64,
}

/// The lowest position with one more, of an answer or of a document. An unknown one changes nothing.
pub(super) fn lower_position(
    lowest: Option<LowestPosition>,
    visit: u64,
    position: Option<u64>,
) -> Option<LowestPosition> {
    let Some(position) = position else { return lowest };
    // A visitor who enters again has the same token and another visit.
    let before = lowest.filter(|lowest| lowest.visit == visit);
    Some(LowestPosition {
        visit,
        position: before.map_or(position, |lowest| lowest.position.min(position)),
    })
}

/// The position to show. `None` if the entry does not wait, or if its last answer has no position: that answer came from the
/// backup, while the line could not be read.
pub(super) fn shown_position(lowest: Option<LowestPosition>, entry: Option<&Entry>) -> Option<u64> {
    let entry = entry.filter(|entry| entry.state == EntryState::Waiting)?;
    entry.position.filter(|position| *position > 0)?;
    Some(lowest?.position)
}
