//! The public document of the queue, as far as a client follows it.

use std::ops::Range;

use vestibule_domain::{
    estimate::{Estimate, Forecast},
    lane::LaneProgress,
};
use vestibule_line::QueueView;

/// One version of the public document.
#[derive(Debug, Clone)]
pub(super) struct PublicDocument {
    /// How far each lane has moved.
    pub(super) lanes: Vec<(u8, LaneProgress)>,
    /// The expected waits at positions spread over the line.
    pub(super) waits: Vec<(u64, Estimate)>,
    /// Whether the state of the queue lets entries be promoted.
    pub(super) is_moving: bool,
}

/// The number of a version of the document. A later version has a higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocumentId(u32);

/// All versions of the document that a CDN has read.
#[derive(Debug, Default)]
pub(super) struct PublicDocuments {
    versions: Vec<PublicDocument>,
    /// The time of the last version, in Unix milliseconds.
    last_at_ms: u64,
}

impl PublicDocuments {
    /// The version of a snapshot of the queue.
    pub(super) fn publish(&mut self, view: &QueueView, forecast: &Forecast) -> DocumentId {
        if self.versions.is_empty() || view.now_ms > self.last_at_ms {
            self.last_at_ms = view.now_ms;
            self.versions.push(PublicDocument {
                lanes: view.lanes.clone(),
                waits: view.estimated_waits(forecast),
                is_moving: view.configuration.can_promote(view.now_ms),
            });
        }
        DocumentId(u32::try_from(self.versions.len() - 1).unwrap_or(u32::MAX))
    }

    /// A version.
    pub(super) fn get(&self, id: DocumentId) -> &PublicDocument {
        &self.versions[id.0 as usize]
    }
}

impl PublicDocument {
    /// How far a lane has moved.
    pub(super) fn lane(&self, lane: u8) -> Option<&LaneProgress> {
        let mut lanes = self.lanes.iter();
        lanes
            .find(|(number, _)| *number == lane)
            .map(|(_, progress)| progress)
    }

    /// The expected wait at a position, as a range in milliseconds: `None` if the line stands still.
    pub(super) fn wait_ms(&self, position: u32) -> Option<Range<u64>> {
        let position = u64::from(position);
        let next = self.waits.partition_point(|(at, _)| *at < position);
        let head = (0, Estimate { low: 0, high: 0 });
        // Ahead of the first position, and behind the last one, the wait grows with the position.
        let (from, to) = match self.waits.get(next) {
            Some(to) => (next.checked_sub(1).map_or(head, |before| self.waits[before]), *to),
            None => (head, *self.waits.last()?),
        };
        let between = |end: fn(&Estimate) -> u64| {
            let (from_ms, to_ms) = (end(&from.1) * 1_000, end(&to.1) * 1_000);
            from_ms + to_ms.saturating_sub(from_ms) * (position - from.0) / (to.0 - from.0)
        };
        let range = between(|range| range.low)..between(|range| range.high);
        Some(range).filter(|_| self.is_moving)
    }
}

/// The id of a version with this number.
#[cfg(test)]
pub(super) fn document_id(number: u32) -> DocumentId {
    DocumentId(number)
}

#[cfg(test)]
impl DocumentId {
    /// The number of the version.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
impl PublicDocuments {
    /// Adds a version with one lane, which moves by so many positions per second.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn add(&mut self, mut lane: LaneProgress, rate: Option<f64>) -> DocumentId {
        let in_1000_seconds = rate.map(|rate| (rate * 1_000.0) as u64);
        lane.speed.per_1000_seconds = in_1000_seconds.unwrap_or(0);
        lane.speed.at_ms = 1;
        let wait = Estimate {
            low: 1_000,
            high: 1_000,
        };
        self.versions.push(PublicDocument {
            lanes: vec![(0, lane)],
            waits: in_1000_seconds
                .map(|position| (position, wait))
                .into_iter()
                .collect(),
            is_moving: true,
        });
        document_id(u32::try_from(self.versions.len() - 1).expect("few versions"))
    }
}
