//! Order, in one number: the scores of the line's sorted sets.
//!
//! All scores are integers below 2^53, which a Redis score (a double) holds exactly.
//!
//! ```text
//! waiting:        | lane: 3 bits | phase: 1 bit | order: 49 bits = 41 bits of ms + 8 bits of n |
//! ready, active:  | deadline: 41 bits of ms                   | visit: 12 bits                 |
//! ```

/// 2025-01-01T00:00:00Z in Unix milliseconds: scores count from here, and 41 bits of it last until 2094.
pub const ERA_MS: u64 = 1_735_689_600_000;
/// How many arrivals of one millisecond have an order of their own before they carry into the next.
pub const ARRIVALS_PER_MS: u64 = 256;
/// Visits count modulo this.
pub const VISITS: u64 = 4096;

const ORDER_BITS: u32 = 49;
const PHASE_OPEN: u64 = 1 << ORDER_BITS;
const SCORE_END: u64 = 1 << 53;

/// The number of one stay in a queue, from entering to its end, made from its join score. It tells a late retry of the
/// last visit from the next visit: see `docs/decisions/one-score.md` for how surely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Visit(u16);

impl Visit {
    /// A visit number; `None` from [`VISITS`] on.
    pub fn new(number: u64) -> Option<Self> {
        u16::try_from(number)
            .ok()
            .filter(|&n| u64::from(n) < VISITS)
            .map(Self)
    }

    /// The number.
    pub fn number(self) -> u16 {
        self.0
    }

    const fn of(number: u64) -> Self {
        // Always below 4096, so the cast cuts nothing.
        #[allow(clippy::cast_possible_truncation)]
        Self((number % VISITS) as u16)
    }
}

/// The place of a waiting entry: who has the lower one is served first. It holds the join time, so nothing else about
/// a waiting entry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitScore(u64);

impl WaitScore {
    /// The score of the next arrival of an open queue: first come, first served, exactly. `last_order` is the order
    /// given to the arrival before it, or 0. It never goes back, even where the clock does.
    pub fn next(last_order: u64, now_ms: u64) -> Self {
        Self(PHASE_OPEN | (last_order + 1).max(now_ms.saturating_sub(ERA_MS) * ARRIVALS_PER_MS))
    }

    /// A score as stored; `None` from 2^53 on.
    pub fn from_raw(raw: u64) -> Option<Self> {
        (raw < SCORE_END).then_some(Self(raw))
    }

    /// The score as stored.
    pub fn raw(self) -> u64 {
        self.0
    }

    /// The low 49 bits: the arrivals counter from which the next one goes on.
    pub fn order(self) -> u64 {
        self.0 & (PHASE_OPEN - 1)
    }

    /// The priority class; 0 is served first.
    pub fn lane(self) -> u64 {
        self.0 >> (ORDER_BITS + 1)
    }

    /// When the entry joined, in Unix milliseconds. Where more than 256 came in one millisecond, up to as many
    /// milliseconds late as the overflow took.
    pub fn joined_at_ms(self) -> u64 {
        self.order() / ARRIVALS_PER_MS + ERA_MS
    }

    /// The visit that began with it: the millisecond plus 16 for each arrival before it in that millisecond, modulo
    /// [`VISITS`]. Two places less than 4 s apart in arrivals that are not crowded, or within one millisecond, never
    /// have the same. The score's own low bits would: they are mostly the count within the millisecond, which is 0.
    pub fn visit(self) -> Visit {
        Visit::of(self.0 / ARRIVALS_PER_MS + self.0 % ARRIVALS_PER_MS * (VISITS / ARRIVALS_PER_MS))
    }
}

/// A deadline and the visit that it belongs to: the score of a ready or an active entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeadlineScore(u64);

impl DeadlineScore {
    /// The score of a deadline in Unix milliseconds.
    pub fn new(deadline_ms: u64, visit: Visit) -> Self {
        Self(deadline_ms.saturating_sub(ERA_MS) * VISITS + u64::from(visit.0))
    }

    /// A score as stored; `None` from 2^53 on.
    pub fn from_raw(raw: u64) -> Option<Self> {
        (raw < SCORE_END).then_some(Self(raw))
    }

    /// The score as stored.
    pub fn raw(self) -> u64 {
        self.0
    }

    /// The deadline, in Unix milliseconds.
    pub fn deadline_ms(self) -> u64 {
        self.0 / VISITS + ERA_MS
    }

    /// The visit.
    pub fn visit(self) -> Visit {
        Visit::of(self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The last millisecond that 41 bits hold.
    const LAST_MS: u64 = ERA_MS + (1 << 41) - 1;

    proptest! {
        #[test]
        fn arrivals_are_in_strict_order_whatever_the_clock_does(clock in prop::collection::vec(ERA_MS..LAST_MS - 1000, 1..600)) {
            let mut last = 0;
            for now_ms in clock {
                let score = WaitScore::next(last, now_ms);
                prop_assert!(score.order() > last, "no two tie, none goes back");
                prop_assert!(score.raw() < SCORE_END);
                prop_assert!(score.joined_at_ms() >= now_ms, "nobody joined before they came");
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
        fn coming_again_is_another_visit(ms in ERA_MS..LAST_MS - 5_000, later_ms in 1u64..4_096, n in 1u64..256) {
            let first = WaitScore::next(0, ms);
            prop_assert_ne!(first.visit(), WaitScore::next(first.order(), ms + later_ms).visit());
            prop_assert_ne!(first.visit(), WaitScore::next(first.order() + n - 1, ms).visit(), "in the same millisecond");
        }

        #[test]
        fn a_deadline_orders_by_time_first(a in ERA_MS..LAST_MS, b in ERA_MS..LAST_MS, va in 0..VISITS, vb in 0..VISITS) {
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
    fn a_burst_in_one_millisecond_carries_into_the_next() {
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
    fn numbers_past_the_end_are_no_scores() {
        assert_eq!(WaitScore::from_raw(SCORE_END), None);
        assert_eq!(DeadlineScore::from_raw(SCORE_END), None);
        assert_eq!(Visit::new(VISITS), None);
    }
}
