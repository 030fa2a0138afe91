//! Checks the promises to the protected service and to the visitors, independently of the line and its rules:
//! the line never admits more than one batch at once plus the pace, never more than the capacity at the same time,
//! and no visitor after one who entered later.

use vestibule_domain::settings::Settings;

/// Counts the violations of pace, capacity and order.
#[derive(Debug)]
pub struct InvariantChecker {
    /// The level of the token bucket, in entries times milliseconds of the interval. The unit keeps it a whole
    /// number.
    level: i128,
    at_ms: u64,
    batch: i128,
    interval_ms: i128,
    capacity: u64,
    slots_taken: u64,
    last_admitted_turn: Option<u32>,
    overshoot: u64,
    out_of_order: u64,
}

impl InvariantChecker {
    /// A checker for a new queue, whose bucket is full.
    pub fn new(settings: &Settings) -> Self {
        let mut checker = Self {
            level: 0,
            at_ms: 0,
            batch: 0,
            interval_ms: 1,
            capacity: 0,
            slots_taken: 0,
            last_admitted_turn: None,
            overshoot: 0,
            out_of_order: 0,
        };
        checker.apply_settings(0, settings);
        checker.level = checker.bucket_size();
        checker
    }

    /// Applies new settings. The bucket keeps its tokens, up to the new batch.
    pub fn apply_settings(&mut self, now_ms: u64, settings: &Settings) {
        self.refill_bucket(now_ms);
        let interval_ms = i128::from(settings.interval_seconds) * 1_000;
        self.level = self.level * interval_ms / self.interval_ms;
        self.interval_ms = interval_ms;
        self.batch = settings.batch.into();
        self.level = self.level.min(self.bucket_size());
        self.capacity = settings.capacity.into();
    }

    /// Records that visits ended and released their slots.
    pub fn release_slots(&mut self, slots: u64) {
        self.slots_taken -= slots;
    }

    /// Records that the line admitted entries at the same time. `turns` are the numbers that the visitors got
    /// when they entered, in the order of admission.
    pub fn admit(&mut self, now_ms: u64, turns: &[u32]) {
        if turns.is_empty() {
            return;
        }
        let entries = turns.len() as u64;
        self.refill_bucket(now_ms);
        self.level -= i128::from(entries) * self.interval_ms;
        if self.level < 0 {
            let excess = (-self.level + self.interval_ms - 1) / self.interval_ms;
            self.overshoot += u64::try_from(excess).unwrap_or(u64::MAX);
            self.level = 0;
        }
        self.slots_taken += entries;
        self.overshoot += self.slots_taken.saturating_sub(self.capacity).min(entries);
        for &turn in turns {
            self.out_of_order += u64::from(self.last_admitted_turn.is_some_and(|last| turn <= last));
            self.last_admitted_turn = self.last_admitted_turn.max(Some(turn));
        }
    }

    /// Admissions above pace or capacity.
    pub fn overshoot(&self) -> u64 {
        self.overshoot
    }

    /// Admissions of a visitor after a visitor who entered later.
    pub fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    fn refill_bucket(&mut self, now_ms: u64) {
        let passed_ms = i128::from(now_ms - self.at_ms);
        self.at_ms = now_ms;
        self.level = (self.level + passed_ms * self.batch).min(self.bucket_size());
    }

    fn bucket_size(&self) -> i128 {
        self.batch * self.interval_ms
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn settings(capacity: u32) -> Settings {
        Settings {
            capacity,
            batch: 10,
            interval_seconds: 10,
            ..Settings::default()
        }
    }

    fn turns(range: Range<u32>) -> Vec<u32> {
        range.collect()
    }

    #[test]
    fn one_admission_above_the_pace_is_counted() {
        let mut checker = InvariantChecker::new(&settings(100));
        checker.admit(0, &turns(0..10));
        checker.admit(5_000, &turns(10..15));
        assert_eq!(checker.overshoot(), 0);
        checker.admit(5_999, &turns(15..16));
        assert_eq!(checker.overshoot(), 1, "the token is due a millisecond later");
    }

    #[test]
    fn admissions_above_the_capacity_are_counted() {
        let mut checker = InvariantChecker::new(&settings(8));
        checker.admit(0, &turns(0..8));
        checker.release_slots(2);
        checker.admit(10_000, &turns(8..10));
        assert_eq!(checker.overshoot(), 0);
        checker.admit(20_000, &turns(10..13));
        assert_eq!(checker.overshoot(), 3);
    }

    #[test]
    fn an_admission_out_of_order_is_counted() {
        let mut checker = InvariantChecker::new(&settings(100));
        checker.admit(0, &[0, 2, 3]);
        assert_eq!(checker.out_of_order(), 0, "visitor 1 may have left");
        checker.admit(1, &[1, 4]);
        assert_eq!(checker.out_of_order(), 1);
        checker.admit(2, &[4]);
        assert_eq!(checker.out_of_order(), 2, "no visitor is admitted twice");
    }
}
