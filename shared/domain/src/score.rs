//! The scores of the line's sorted sets, and the numbers of visits.
//!
//! All scores are integers below 2^53, which a Redis score (a double) holds exactly.
//!
//! ```text
//! waiting:        | lane: 3 bits | phase: 1 bit | order: 49 bits = 41 bits of ms + 8 bits of n |
//! ready, active:  a deadline in Unix milliseconds
//! ```

use crate::lane::Lane;

/// 2025-01-01T00:00:00Z in Unix milliseconds. Orders count from this moment; 41 bits of
/// milliseconds last until 2094.
pub const ERA_MS: u64 = 1_735_689_600_000;
/// The number of arrivals within one millisecond that get an order of their own. Further arrivals
/// carry over into the next millisecond.
pub const ARRIVALS_PER_MS: u64 = 256;

/// The bits of the order in a score.
pub const ORDER_BITS: u32 = 49;
const PHASE_OPEN: u64 = 1 << ORDER_BITS;
const LANE_SHIFT: u32 = ORDER_BITS + 1;
const SCORE_END: u64 = 1 << 53;

/// The number of one visit: one stay in a queue, from entering to its end. It is the order that the
/// visitor got at entering, so it never repeats within a queue, and of two visits the later one has
/// the higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit(u64);

impl Visit {
    /// A visit number; `None` for 2^49 and above.
    pub fn new(number: u64) -> Option<Self> {
        (number < PHASE_OPEN).then_some(Self(number))
    }

    /// The number, below 2^49.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The last visit that can begin at this time, in Unix milliseconds.
    pub fn latest_at(ms: u64) -> Self {
        let elapsed_ms = ms.saturating_sub(ERA_MS);
        Self(((elapsed_ms + 1) * ARRIVALS_PER_MS - 1).min(PHASE_OPEN - 1))
    }

    /// When the visit began, in Unix milliseconds. If more than 256 visits began within one millisecond, this is late
    /// by as many milliseconds as the overflow needed.
    pub fn began_at_ms(self) -> u64 {
        self.0 / ARRIVALS_PER_MS + ERA_MS
    }

    /// The place at which the visit began, in the default lane of an open queue.
    pub fn place(self) -> WaitScore {
        let place = WaitScore {
            raw: PHASE_OPEN | self.0,
            visit: self,
        };
        place.in_lane(Lane::DEFAULT)
    }
}

/// The place of a waiting entry, and the visit that began with it. The lower place is served first. After the opening,
/// the score contains the join time, so the line stores nothing else about a waiting entry. Before it, the score is drawn,
/// and the line stores the visit as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitScore {
    raw: u64,
    visit: Visit,
}

impl WaitScore {
    /// The score of the next arrival at an open queue. The order is strictly first come, first
    /// served. `last_order` is the order of the previous arrival, or 0. The order never goes back,
    /// even if the clock does.
    pub fn next(last_order: u64, now_ms: u64) -> Self {
        Visit((last_order + 1).max(now_ms.saturating_sub(ERA_MS) * ARRIVALS_PER_MS)).place()
    }

    /// A score as stored, without the visit of a drawn one, which is then 0; `None` for 2^53 and above.
    pub fn from_raw(raw: u64) -> Option<Self> {
        Self::of_visit(raw, Visit(0))
    }

    /// A score as stored of an entry with this visit. A place that was given after the opening contains its own visit.
    /// `None` for 2^53 and above.
    pub fn of_visit(raw: u64, visit: Visit) -> Option<Self> {
        let contains_visit = raw & PHASE_OPEN != 0;
        let visit = if contains_visit {
            Visit(raw & (PHASE_OPEN - 1))
        } else {
            visit
        };
        (raw < SCORE_END).then_some(Self { raw, visit })
    }

    /// The score as stored.
    pub fn raw(self) -> u64 {
        self.raw
    }

    /// The low 49 bits: of a place after the opening the arrival counter, from which the next arrival continues.
    pub fn order(self) -> u64 {
        self.raw & (PHASE_OPEN - 1)
    }

    /// The priority class; 0 is served first.
    pub fn lane(self) -> u8 {
        (self.raw >> LANE_SHIFT).to_le_bytes()[0]
    }

    /// The place of the same visit in another lane. Within a lane the order of joining, or of the draw,
    /// stays.
    #[must_use]
    pub fn in_lane(self, lane: Lane) -> Self {
        let within_lane = self.raw & ((1 << LANE_SHIFT) - 1);
        Self {
            raw: u64::from(lane.number()) << LANE_SHIFT | within_lane,
            ..self
        }
    }

    /// Whether the place was not drawn. Only then does the order tell when the entry joined.
    pub fn is_after_opening(self) -> bool {
        self.raw & PHASE_OPEN != 0
    }

    /// When the entry joined, in Unix milliseconds: see [`Visit::began_at_ms`].
    pub fn joined_at_ms(self) -> u64 {
        self.visit.began_at_ms()
    }

    /// The visit that began with this place.
    pub fn visit(self) -> Visit {
        self.visit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The last millisecond that 41 bits can hold.
    const LAST_MS: u64 = ERA_MS + (1 << 41) - 1;

    proptest! {
        #[test]
        fn arrivals_keep_strict_order_with_any_clock(clock in prop::collection::vec(ERA_MS..LAST_MS - 1000, 1..600)) {
            let mut last = 0;
            for now_ms in clock {
                let score = WaitScore::next(last, now_ms);
                prop_assert!(score.order() > last, "the order rises with each arrival");
                prop_assert!(score.raw() < SCORE_END);
                prop_assert!(score.joined_at_ms() >= now_ms, "the join time is not before the arrival");
                last = score.order();
            }
        }

        #[test]
        fn a_waiting_score_survives_a_double(ms in ERA_MS..LAST_MS) {
            let score = WaitScore::next(0, ms);
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let back = score.raw() as f64 as u64;
            prop_assert_eq!(back, score.raw());
            prop_assert_eq!(score.joined_at_ms(), ms);
            prop_assert_eq!(score.lane(), Lane::DEFAULT.number());
        }

        #[test]
        fn a_place_in_another_lane_keeps_visit_and_order(ms in ERA_MS..LAST_MS, number in 0u64..8) {
            let place = WaitScore::next(0, ms);
            let lane = Lane::new(number).expect("a lane");
            let moved = place.in_lane(lane);
            prop_assert_eq!(moved.lane(), lane.number());
            prop_assert_eq!((moved.visit(), moved.order()), (place.visit(), place.order()));
            prop_assert_eq!(moved.is_after_opening(), place.is_after_opening());
            prop_assert_eq!(moved.in_lane(Lane::DEFAULT), place);
        }

        #[test]
        fn a_later_place_begins_a_later_visit(ms in ERA_MS..LAST_MS - 5_000, back_ms in 0u64..5_000, n in 1u64..256) {
            let first = WaitScore::next(0, ms);
            let second = WaitScore::next(first.order(), ms - back_ms.min(ms - ERA_MS));
            prop_assert!(first.visit() < second.visit());
            prop_assert!(first.visit() < WaitScore::next(first.order() + n - 1, ms).visit(), "in the same millisecond");
            prop_assert_eq!(first.visit().place(), first);
            prop_assert_eq!(Visit::new(first.visit().number()), Some(first.visit()));
        }
    }

    #[test]
    fn more_than_256_arrivals_carry_into_the_next_millisecond() {
        let mut last = 0;
        let scores: Vec<_> = (0..300)
            .map(|_| {
                let score = WaitScore::next(last, ERA_MS + 5);
                last = score.order();
                score
            })
            .collect();
        assert_eq!(scores[0].joined_at_ms(), ERA_MS + 5);
        assert_eq!(scores[255].joined_at_ms(), ERA_MS + 5);
        assert_eq!(scores[256].joined_at_ms(), ERA_MS + 6);
    }

    #[test]
    fn the_latest_visit_of_a_millisecond_is_the_last_that_it_holds() {
        let ms = ERA_MS + 5;
        let latest = Visit::latest_at(ms);
        assert!(WaitScore::next(0, ms).visit() <= latest);
        assert_eq!(WaitScore::next(latest.number(), ms).joined_at_ms(), ms + 1);
        assert_eq!(Visit::latest_at(0).number(), ARRIVALS_PER_MS - 1);
        assert_eq!(Visit::latest_at(u64::MAX / 1_000).number(), PHASE_OPEN - 1);
    }

    #[test]
    fn numbers_above_the_range_are_not_scores() {
        assert_eq!(WaitScore::from_raw(SCORE_END), None);
        assert_eq!(Visit::new(PHASE_OPEN), None);
    }
}
