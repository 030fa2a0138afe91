//! The coordinator: it merges the digests of the parts, and grants promotions.
//!
//! Both messages carry totals, and no steps: a lost or repeated one does no harm.

use super::DEAD_AFTER_MS;
use crate::simulation::START_MS;
use vestibule_domain::score::{ARRIVALS_PER_MS, ERA_MS};

/// What a part tells the coordinator.
#[derive(Debug, Clone, Default)]
pub struct Digest {
    /// The part's line time, in Unix milliseconds. Every later entry gets a later place.
    pub line_ms: u64,
    /// Entries promoted since the beginning.
    pub promoted: u64,
    /// Of them, those who have ended.
    pub ended: u64,
    /// The first places of the part.
    pub heads: Vec<u64>,
    /// How many entries wait before some places, in order.
    pub counts: Vec<(u64, u64)>,
}

/// What the coordinator tells a part.
#[derive(Debug, Clone, Copy)]
pub struct Grant {
    /// The number of the coordinator's tick.
    pub tick: u64,
    /// Entries that the part may have promoted since the beginning.
    pub granted: u64,
    /// The last place that may be promoted.
    pub boundary: u64,
}

/// The coordinator.
pub struct Coordinator {
    capacity: u64,
    batch: u64,
    granted: Vec<u64>,
    /// The last digest of each part, and when it arrived.
    digests: Vec<(u64, Digest)>,
    boundary: u64,
    ticks: u64,
}

impl Coordinator {
    /// A coordinator that has heard of no part.
    pub fn new(parts: usize, capacity: u64, batch: u64) -> Self {
        Self {
            capacity,
            batch,
            granted: vec![0; parts],
            digests: vec![(0, Digest::default()); parts],
            boundary: 0,
            ticks: 0,
        }
    }

    /// Takes a digest, unless a later one is known.
    pub fn hear(&mut self, part: usize, digest: Digest, now_ms: u64) {
        if digest.line_ms > self.digests[part].1.line_ms {
            self.digests[part] = (now_ms, digest);
        }
    }

    /// Grants promotions, within pace and capacity, to the first entries of all living parts. Returns the grant of each part.
    pub fn tick(&mut self, now_ms: u64) -> Vec<Grant> {
        self.ticks += 1;
        // At most as many are inside: each grant counts as used, and each end only once it was heard of.
        let taken: u64 = self.granted.iter().sum::<u64>()
            - self.digests.iter().map(|(_, digest)| digest.ended).sum::<u64>();
        // A bucket of one batch that each tick fills.
        let most = self.batch.min(self.capacity.saturating_sub(taken));
        let watermark = self.watermark(now_ms);
        let mut first: Vec<(u64, usize)> = self
            .living(now_ms)
            .flat_map(|part| self.candidates(part, watermark))
            .collect();
        first.sort_unstable();
        first.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        for (place, part) in first {
            self.granted[part] += 1;
            self.boundary = self.boundary.max(place);
        }
        let (tick, boundary) = (self.ticks, self.boundary);
        let grants = self.granted.iter();
        grants
            .map(|granted| Grant {
                tick,
                granted: *granted,
                boundary,
            })
            .collect()
    }

    /// The position of an entry that has `ahead` others of its own part ahead: those, and as many of the other parts as their
    /// last digests say.
    pub fn position(&self, own: usize, ahead: u64, place: u64) -> u64 {
        let others = self.digests.iter().enumerate().filter(|(part, _)| *part != own);
        1 + ahead
            + others
                .map(|(_, (_, digest))| digest.count_before(place))
                .sum::<u64>()
    }

    /// The age of the oldest digest of a living part, in milliseconds.
    pub fn oldest_digest_ms(&self, now_ms: u64) -> u64 {
        self.living(now_ms)
            .map(|part| now_ms - self.digests[part].0)
            .max()
            .unwrap_or(0)
    }

    fn living(&self, now_ms: u64) -> impl Iterator<Item = usize> {
        (0..self.digests.len()).filter(move |part| now_ms - self.digests[*part].0 <= DEAD_AFTER_MS)
    }

    /// The place below which no living part gives another one. Entries behind it wait for the next tick.
    fn watermark(&self, now_ms: u64) -> u64 {
        let line_ms = self.living(now_ms).map(|part| self.digests[part].1.line_ms).min();
        line_ms.unwrap_or(START_MS).max(START_MS).saturating_sub(ERA_MS) * ARRIVALS_PER_MS
    }

    /// The first entries of a part that have no grant yet. The part has used or will use the open grants for those before.
    fn candidates(&self, part: usize, watermark: u64) -> impl Iterator<Item = (u64, usize)> {
        let (_, digest) = &self.digests[part];
        let open = self.granted[part] - digest.promoted;
        let without_grant = digest
            .heads
            .iter()
            .skip(usize::try_from(open).unwrap_or(usize::MAX));
        without_grant
            .take_while(move |place| **place < watermark)
            .map(move |place| (*place, part))
    }
}

impl Digest {
    /// How many entries wait before a place, to within the points that are counted.
    fn count_before(&self, place: u64) -> u64 {
        let after = self.counts.partition_point(|(point, _)| *point < place);
        let Some((low_place, low)) = after.checked_sub(1).and_then(|before| self.counts.get(before)) else {
            return 0;
        };
        let Some((high_place, high)) = self.counts.get(after) else {
            return *low;
        };
        low + (high - low) * (place - low_place) / (high_place - low_place).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(line_ms: u64, heads: &[u64]) -> Digest {
        Digest {
            line_ms,
            heads: heads.to_vec(),
            ..Digest::default()
        }
    }

    fn place(ms: u64) -> u64 {
        (START_MS + ms - ERA_MS) * ARRIVALS_PER_MS
    }

    #[test]
    fn the_first_entries_of_all_parts_are_granted() {
        let mut coordinator = Coordinator::new(2, 100, 3);
        coordinator.hear(0, digest(START_MS + 900, &[place(1), place(4), place(5)]), 1_000);
        coordinator.hear(1, digest(START_MS + 900, &[place(2), place(3)]), 1_000);
        let grants = coordinator.tick(1_000);
        assert_eq!([grants[0].granted, grants[1].granted], [1, 2]);
        assert_eq!(grants[0].boundary, place(3));
    }

    #[test]
    fn no_entry_is_granted_that_an_earlier_one_may_follow() {
        let mut coordinator = Coordinator::new(2, 100, 10);
        coordinator.hear(0, digest(START_MS + 900, &[place(1), place(800)]), 1_000);
        coordinator.hear(1, digest(START_MS + 500, &[]), 1_000);
        assert_eq!(coordinator.tick(1_000)[0].granted, 1);
        coordinator.hear(1, digest(START_MS + 1_500, &[]), 2_000);
        coordinator.hear(0, digest(START_MS + 901, &[place(1), place(800)]), 2_000);
        assert_eq!(coordinator.tick(2_000)[0].granted, 2, "the watermark has passed");
    }

    #[test]
    fn a_grant_counts_until_its_end_is_heard_of() {
        let mut coordinator = Coordinator::new(1, 2, 10);
        coordinator.hear(0, digest(START_MS + 900, &[place(1), place(2), place(3)]), 1_000);
        assert_eq!(coordinator.tick(1_000)[0].granted, 2, "the capacity");
        assert_eq!(coordinator.tick(2_000)[0].granted, 2, "nothing was heard");
        let later = Digest {
            promoted: 2,
            ended: 1,
            ..digest(START_MS + 2_900, &[place(3)])
        };
        coordinator.hear(0, later, 3_000);
        assert_eq!(coordinator.tick(3_000)[0].granted, 3);
    }

    #[test]
    fn a_position_is_counted_between_the_points() {
        let digest = Digest {
            counts: vec![(100, 0), (200, 10), (300, 20)],
            ..Digest::default()
        };
        assert_eq!(
            [50, 100, 150, 250, 300, 900].map(|place| digest.count_before(place)),
            [0, 0, 5, 15, 20, 20]
        );
    }
}
