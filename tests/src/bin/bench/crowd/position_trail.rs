//! The positions that one visitor was told, and how far they were off.

use crate::figures::ratio;

/// The shortest line against which a relative error is measured. Two or three places at the head do not matter.
const ERROR_BASE_MIN: u64 = 10;

/// The unclamped positions of one visitor, in the order of the moments that they describe.
#[derive(Debug, Default)]
pub(crate) struct PositionTrail {
    last: Option<(u64, i64)>,
    /// When the last answer about the entry came, in Unix milliseconds.
    answered_at_ms: u64,
    /// How often a position was higher than the one before.
    pub(crate) rises: u64,
    /// Documents that were older than the last answer about the entry, because a cache kept them. They describe an earlier
    /// moment, so their positions may be higher. The client never shows that.
    pub(crate) older_documents: u64,
    /// Samples of the position by a document right after it was read.
    pub(crate) read_samples: Vec<PositionSample>,
    /// Samples of the position that the visitor saw, at random moments. It is as old as the last document.
    pub(crate) shown_samples: Vec<PositionSample>,
}

/// A position that a visitor computed from the document, and the true one at the same moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PositionSample {
    pub(crate) computed: i64,
    pub(crate) actual: i64,
}

impl PositionTrail {
    /// Takes the position of an answer about the entry.
    pub(crate) fn record_answer(&mut self, visit: u64, position: i64, now_ms: u64) {
        self.answered_at_ms = now_ms;
        self.record(visit, position);
    }

    /// Takes a position by a document of the line time `document_ms`, which is the time of this machine.
    pub(crate) fn record_document(&mut self, visit: u64, position: i64, document_ms: u64) {
        if document_ms < self.answered_at_ms {
            self.older_documents += 1;
        } else {
            self.record(visit, position);
        }
    }

    fn record(&mut self, visit: u64, position: i64) {
        let before = self.last.replace((visit, position));
        let has_risen = |(visit_before, before)| visit_before == visit && position > before;
        self.rises += u64::from(before.is_some_and(has_risen));
    }
}

impl PositionSample {
    /// The distance from the true position, in entries.
    pub(crate) fn error(self) -> f64 {
        ratio(self.computed.abs_diff(self.actual), 1)
    }

    /// The distance relative to the true position.
    pub(crate) fn relative_error(self) -> f64 {
        ratio(
            self.computed.abs_diff(self.actual),
            self.actual.unsigned_abs().max(ERROR_BASE_MIN),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_higher_later_position_of_a_visit_is_a_rise() {
        let mut trail = PositionTrail::default();
        trail.record_answer(1, 900, 10_000);
        trail.record_document(1, 950, 9_999);
        assert_eq!((trail.rises, trail.older_documents), (0, 1));
        trail.record_document(1, 900, 10_001);
        trail.record_document(1, 850, 12_000);
        assert_eq!(trail.rises, 0);
        trail.record_document(1, 851, 14_000);
        trail.record_answer(1, 852, 15_000);
        assert_eq!(trail.rises, 2);
        trail.record_answer(2, 2_000, 16_000);
        assert_eq!(trail.rises, 2, "another visit begins anew");
    }
}
