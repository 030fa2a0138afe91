//! The scores of the line's sorted sets. One number holds the whole order.
//!
//! All scores are integers below 2^53, which a Redis score (a double) holds exactly.
//!
//! ```text
//! waiting:        | lane: 3 bits | phase: 1 bit | order: 49 bits = 41 bits of ms + 8 bits of n |
//! ready, active:  | deadline: 41 bits of ms                   | visit: 12 bits                 |
//! ```

/// 2025-01-01T00:00:00Z in Unix milliseconds. Scores count from this moment; 41 bits of
/// milliseconds last until 2094.
pub const ERA_MS: u64 = 1_735_689_600_000;
/// The number of arrivals within one millisecond that get an order of their own. Further arrivals
/// carry over into the next millisecond.
pub const ARRIVALS_PER_MS: u64 = 256;
/// Visit numbers count modulo this.
pub const VISIT_MODULUS: u64 = 4096;

const ORDER_BITS: u32 = 49;
const PHASE_OPEN: u64 = 1 << ORDER_BITS;
const SCORE_END: u64 = 1 << 53;

/// The number of one visit: one stay in a queue, from entering to its end. It is computed from the join
/// score. It distinguishes a late retry for the previous visit from the current visit;
/// `docs/adr/0002-one-score-and-atomic-scripts.md` says how reliably.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit(u16);

impl Visit {
    /// A visit number; `None` for [`VISIT_MODULUS`] and above.
    pub fn new(number: u64) -> Option<Self> {
        u16::try_from(number)
            .ok()
            .filter(|&n| u64::from(n) < VISIT_MODULUS)
            .map(Self)
    }

    /// The number, below [`VISIT_MODULUS`].
    pub fn number(self) -> u16 {
        self.0
    }

    const fn from_modulo(number: u64) -> Self {
        // The result is always below 4096, so the cast loses no bits.
        #[allow(clippy::cast_possible_truncation)]
        Self((number % VISIT_MODULUS) as u16)
    }
}

/// The place of a waiting entry. The lower place is served first. The score contains the join time,
/// so the line stores nothing else about a waiting entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitScore(u64);

impl WaitScore {
    /// The score of the next arrival at an open queue. The order is strictly first come, first
    /// served. `last_order` is the order of the previous arrival, or 0. The order never goes back,
    /// even if the clock does.
    pub fn next(last_order: u64, now_ms: u64) -> Self {
        Self(PHASE_OPEN | (last_order + 1).max(now_ms.saturating_sub(ERA_MS) * ARRIVALS_PER_MS))
    }

    /// A score as stored; `None` for 2^53 and above.
    pub fn from_raw(raw: u64) -> Option<Self> {
        (raw < SCORE_END).then_some(Self(raw))
    }

    /// The score as stored.
    pub fn raw(self) -> u64 {
        self.0
    }

    /// The low 49 bits: the arrival counter, from which the next arrival continues.
    pub fn order(self) -> u64 {
        self.0 & (PHASE_OPEN - 1)
    }

    /// The priority class; 0 is served first.
    pub fn lane(self) -> u64 {
        self.0 >> (ORDER_BITS + 1)
    }

    /// When the entry joined, in Unix milliseconds. If more than 256 entries arrived within one
    /// millisecond, this is late by as many milliseconds as the overflow needed.
    pub fn joined_at_ms(self) -> u64 {
        self.order() / ARRIVALS_PER_MS + ERA_MS
    }

    /// The visit that began with this score: the millisecond, plus 16 for each earlier arrival
    /// within it, modulo [`VISIT_MODULUS`]. Two places have different visits if they are less than
    /// 4 s apart and arrivals are not crowded, or if they are within one millisecond. The low bits
    /// of the score would not do: they are mostly the count within the millisecond, which is
    /// usually 0.
    pub fn visit(self) -> Visit {
        Visit::from_modulo(
            self.0 / ARRIVALS_PER_MS + self.0 % ARRIVALS_PER_MS * (VISIT_MODULUS / ARRIVALS_PER_MS),
        )
    }
}

/// The score of a ready or an active entry: a deadline, and the visit to which it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeadlineScore(u64);

impl DeadlineScore {
    /// The score of a deadline in Unix milliseconds.
    pub fn new(deadline_ms: u64, visit: Visit) -> Self {
        Self(deadline_ms.saturating_sub(ERA_MS) * VISIT_MODULUS + u64::from(visit.0))
    }

    /// A score as stored; `None` for 2^53 and above.
    pub fn from_raw(raw: u64) -> Option<Self> {
        (raw < SCORE_END).then_some(Self(raw))
    }

    /// The score as stored.
    pub fn raw(self) -> u64 {
        self.0
    }

    /// The deadline, in Unix milliseconds.
    pub fn deadline_ms(self) -> u64 {
        self.0 / VISIT_MODULUS + ERA_MS
    }

    /// The visit.
    pub fn visit(self) -> Visit {
        Visit::from_modulo(self.0)
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
            prop_assert_eq!(score.lane(), 0);
        }

        #[test]
        fn entering_again_starts_another_visit(ms in ERA_MS..LAST_MS - 5_000, later_ms in 1u64..4_096, n in 1u64..256) {
            let first = WaitScore::next(0, ms);
            prop_assert_ne!(first.visit(), WaitScore::next(first.order(), ms + later_ms).visit());
            prop_assert_ne!(first.visit(), WaitScore::next(first.order() + n - 1, ms).visit(), "in the same millisecond");
        }

        #[test]
        fn a_deadline_orders_by_time_first(a in ERA_MS..LAST_MS, b in ERA_MS..LAST_MS, va in 0..VISIT_MODULUS, vb in 0..VISIT_MODULUS) {
            let (one, two) = (
                DeadlineScore::new(a, Visit::new(va).expect("in range")),
                DeadlineScore::new(b, Visit::new(vb).expect("in range")),
            );
            prop_assert_eq!(one.deadline_ms(), a);
            prop_assert_eq!(u64::from(one.visit().number()), va);
            prop_assert!(one.raw() < SCORE_END);
            if a != b {
                prop_assert_eq!(a < b, one < two);
            }
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
    fn numbers_above_the_range_are_not_scores() {
        assert_eq!(WaitScore::from_raw(SCORE_END), None);
        assert_eq!(DeadlineScore::from_raw(SCORE_END), None);
        assert_eq!(Visit::new(VISIT_MODULUS), None);
    }
}
