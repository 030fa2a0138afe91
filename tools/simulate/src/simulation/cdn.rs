//! The CDN in front of the public document: edge locations, and a shield between them and the origin.
//!
//! The document is `public, max-age=2, stale-while-revalidate=8`. The age of a copy counts from the origin's answer, also
//! through the shield. A cache answers with a copy up to 2 s old. It answers with one up to 10 s old too, and asks for the
//! next one meanwhile. It keeps a failure of the origin for 2 s.

use std::ops::ControlFlow;

use super::public_document::DocumentId;
use crate::deployment::CdnBehavior;

/// The number of edge locations.
const EDGES: u32 = 50;
/// One in this many reads is answered by another edge location than usual.
const ROAMING_READS: u32 = 20;
const MAX_AGE_MS: u64 = 2_000;
const STALE_WHILE_REVALIDATE_MS: u64 = 8_000;
/// `ErrorCachingMinTTL` in `template.yaml`.
const FAILURE_KEPT_MS: u64 = 2_000;

/// A copy of the document in a cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copy {
    document: DocumentId,
    /// When the origin answered.
    at_ms: u64,
}

/// One cache of the CDN.
#[derive(Debug, Clone, Copy, Default)]
struct Cache {
    copy: Option<Copy>,
    failed_at_ms: Option<u64>,
    /// For how long it answers with a copy, whatever `Cache-Control` says, in milliseconds.
    kept_ms: u64,
}

/// The caches of the CDN.
#[derive(Debug, Default)]
pub(super) struct Cdn {
    edges: Vec<Cache>,
    shield: Cache,
}

impl Copy {
    pub(super) fn new(document: DocumentId, at_ms: u64) -> Self {
        Self { document, at_ms }
    }
}

impl Cdn {
    pub(super) fn new(behavior: CdnBehavior) -> Self {
        let edge = |number| {
            let kept_ms = match behavior {
                CdnBehavior::ServesOldCopies { kept_ms } if number % 2 == 1 => kept_ms,
                _ => 0,
            };
            Cache {
                kept_ms,
                ..Cache::default()
            }
        };
        Self {
            edges: (0..EDGES).map(edge).collect(),
            shield: Cache::default(),
        }
    }

    /// The edge location that answers a reader. `draw` is random.
    pub(super) fn edge_of(visitor: u32, draw: u32) -> usize {
        let edge = if draw.is_multiple_of(ROAMING_READS) {
            draw / ROAMING_READS
        } else {
            visitor
        };
        (edge % EDGES) as usize
    }

    /// Reads the document at an edge location. `origin` answers with a copy, or not. `None` is an answer without a
    /// document.
    pub(super) fn read(
        &mut self,
        edge: usize,
        now_ms: u64,
        origin: impl FnOnce() -> Option<Copy>,
    ) -> Option<DocumentId> {
        let Self { edges, shield } = self;
        let read = edges[edge].read(now_ms, || shield.read(now_ms, origin));
        read.map(|copy| copy.document)
    }
}

impl Cache {
    fn read(&mut self, now_ms: u64, source: impl FnOnce() -> Option<Copy>) -> Option<Copy> {
        match self.find_fresh(now_ms) {
            ControlFlow::Break(answer) => answer,
            ControlFlow::Continue(stale) => {
                match source() {
                    Some(copy) => (self.copy, self.failed_at_ms) = (Some(copy), None),
                    None => self.failed_at_ms = Some(now_ms),
                }
                // The reader does not wait for the next copy if a stale one will do.
                stale.or(self.copy.filter(|_| self.failed_at_ms.is_none()))
            }
        }
    }

    /// Breaks with the answer that needs no further request. Otherwise continues with the stale copy, if it will do.
    fn find_fresh(&self, now_ms: u64) -> ControlFlow<Option<Copy>, Option<Copy>> {
        let is_within = |copy: &Copy, age_ms| now_ms - copy.at_ms <= age_ms;
        let fresh = self
            .copy
            .filter(|copy| is_within(copy, MAX_AGE_MS.max(self.kept_ms)));
        let stale = self
            .copy
            .filter(|copy| is_within(copy, MAX_AGE_MS + STALE_WHILE_REVALIDATE_MS));
        let has_failed = self
            .failed_at_ms
            .is_some_and(|at_ms| now_ms - at_ms < FAILURE_KEPT_MS);
        match fresh {
            Some(_) => ControlFlow::Break(fresh),
            None if has_failed => ControlFlow::Break(stale),
            None => ControlFlow::Continue(stale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::public_document::document_id, *};

    /// Reads each edge location every 100 ms and returns the age of the oldest answer, and the origin reads.
    fn read_all(cdn: &mut Cdn, from_ms: u64, to_ms: u64, is_up: bool) -> (u64, u32, u32) {
        let (mut oldest_ms, mut origin_reads, mut failures) = (0, 0, 0);
        for now_ms in (from_ms..to_ms).step_by(100) {
            for edge in 0..EDGES as usize {
                let origin = || {
                    origin_reads += 1;
                    is_up.then(|| Copy::new(document_id(u32::try_from(now_ms).unwrap_or(0)), now_ms))
                };
                match cdn.read(edge, now_ms, origin) {
                    Some(id) => oldest_ms = oldest_ms.max(now_ms - u64::from(id.number())),
                    None => failures += 1,
                }
            }
        }
        (oldest_ms, origin_reads, failures)
    }

    #[test]
    fn the_origin_is_read_once_in_two_seconds_whatever_the_readers() {
        let mut cdn = Cdn::new(CdnBehavior::Correct);
        let (oldest_ms, origin_reads, failures) = read_all(&mut cdn, 0, 60_000, true);
        assert!((28..=31).contains(&origin_reads), "{origin_reads}");
        assert!((2_000..=4_500).contains(&oldest_ms), "{oldest_ms}");
        assert_eq!(failures, 0);
    }

    #[test]
    fn stale_copies_bridge_a_short_outage_of_the_origin() {
        let mut cdn = Cdn::new(CdnBehavior::Correct);
        read_all(&mut cdn, 0, 10_000, true);
        let (oldest_ms, _, failures) = read_all(&mut cdn, 10_000, 15_000, false);
        assert_eq!(failures, 0);
        assert!(oldest_ms <= 10_000, "{oldest_ms}");
        let (_, origin_reads, failures) = read_all(&mut cdn, 30_000, 40_000, false);
        assert_eq!(failures, 5_000, "no copy will do any more");
        assert!(origin_reads <= 6, "a failure is kept: {origin_reads}");
        let (_, _, failures) = read_all(&mut cdn, 45_000, 50_000, true);
        assert_eq!(failures, 0);
    }

    #[test]
    fn every_second_edge_location_may_serve_old_copies() {
        let mut cdn = Cdn::new(CdnBehavior::ServesOldCopies { kept_ms: 90_000 });
        let (oldest_ms, _, _) = read_all(&mut cdn, 0, 300_000, true);
        assert!((85_000..=91_000).contains(&oldest_ms), "{oldest_ms}");
        let draws = 0..10_000;
        let away = draws.filter(|draw| Cdn::edge_of(7, *draw) != 7).count();
        assert!((400..600).contains(&away), "{away}");
    }
}
