//! The public document of the queue, as far as a client follows it.

use vestibule_domain::lane::LaneProgress;
use vestibule_line::QueueView;

/// One version of the public document.
#[derive(Debug, Clone)]
pub(super) struct PublicDocument {
    /// How far each lane has moved.
    pub(super) lanes: Vec<(u8, LaneProgress)>,
    /// Entries served per second. `None` before any were served.
    pub(super) rate: Option<f64>,
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
    /// The version of a snapshot of the queue. `rate` is the entries served per second.
    pub(super) fn publish(&mut self, view: &QueueView, rate: Option<f64>) -> DocumentId {
        if self.versions.is_empty() || view.now_ms > self.last_at_ms {
            self.last_at_ms = view.now_ms;
            self.versions.push(PublicDocument {
                lanes: view.lanes.clone(),
                rate,
                is_moving: view.configuration.settings.can_promote(),
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

    /// The expected wait at a position by the rate, in milliseconds: `u64::MAX` if the line stands still, and `None` if the
    /// document does not tell.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn wait_ms(&self, position: u32) -> Option<u64> {
        if !self.is_moving {
            return Some(u64::MAX);
        }
        // A rate of zero makes the wait infinite, and the cast saturates.
        self.rate
            .map(|rate| (f64::from(position) / rate * 1_000.0) as u64)
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
    /// Adds a version with one lane.
    pub(super) fn add(&mut self, lane: LaneProgress, rate: Option<f64>) -> DocumentId {
        self.versions.push(PublicDocument {
            lanes: vec![(0, lane)],
            rate,
            is_moving: true,
        });
        document_id(u32::try_from(self.versions.len() - 1).expect("few versions"))
    }
}
