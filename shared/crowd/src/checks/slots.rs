//! Checks the promises to the protected service, independently of the line and its rules: the line never admits more than
//! one batch at once plus the pace, and never more than the capacity at the same time.

use vestibule_domain::settings::Settings;

/// Counts the violations of pace and capacity.
#[derive(Debug)]
pub struct SlotChecker {
    /// The level of the token bucket, in entries times milliseconds of the interval. The unit keeps it a whole
    /// number.
    level: i128,
    at_ms: u64,
    batch: i128,
    interval_ms: i128,
    capacity: u64,
    slots_taken: u64,
    overshoot: u64,
}

impl SlotChecker {
    /// A checker for a new queue, whose bucket is full.
    pub fn new(settings: &Settings) -> Self {
        let mut checker = Self {
            level: 0,
            at_ms: 0,
            batch: 0,
            interval_ms: 1,
            capacity: 0,
            slots_taken: 0,
            overshoot: 0,
        };
        checker.apply_settings(0, settings);
        checker.level = checker.bucket_size();
        checker
    }

    /// Applies new settings. The bucket keeps its tokens, up to the new batch. If the interval changes, it keeps whole
    /// tokens only.
    pub fn apply_settings(&mut self, now_ms: u64, settings: &Settings) {
        self.refill_bucket(now_ms);
        let interval_ms = i128::from(settings.interval_seconds) * 1_000;
        if interval_ms != self.interval_ms {
            self.level = self.level / self.interval_ms * interval_ms;
            self.interval_ms = interval_ms;
        }
        self.batch = settings.batch.into();
        self.level = self.level.min(self.bucket_size());
        self.capacity = settings.capacity.into();
    }

    /// Records that visits ended and released their slots.
    pub fn release_slots(&mut self, slots: u64) {
        self.slots_taken -= slots;
    }

    /// Records that the line admitted this many entries at the same time.
    pub fn admit(&mut self, now_ms: u64, entries: u64) {
        if entries == 0 {
            return;
        }
        self.refill_bucket(now_ms);
        self.level -= i128::from(entries) * self.interval_ms;
        if self.level < 0 {
            let excess = (-self.level + self.interval_ms - 1) / self.interval_ms;
            self.overshoot += u64::try_from(excess).unwrap_or(u64::MAX);
            self.level = 0;
        }
        self.slots_taken += entries;
        self.overshoot += self.slots_taken.saturating_sub(self.capacity).min(entries);
    }

    /// Whether a slot and a token are free, so that another entry may be admitted.
    pub fn may_admit(&mut self, now_ms: u64) -> bool {
        self.refill_bucket(now_ms);
        self.slots_taken < self.capacity && self.level >= self.interval_ms
    }

    /// Admissions above pace or capacity.
    pub fn overshoot(&self) -> u64 {
        self.overshoot
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
    use super::*;

    fn settings(capacity: u32) -> Settings {
        Settings {
            capacity,
            batch: 10,
            interval_seconds: 10,
            ..Settings::default()
        }
    }

    #[test]
    fn one_admission_above_the_pace_is_counted() {
        let mut checker = SlotChecker::new(&settings(100));
        checker.admit(0, 10);
        checker.admit(5_000, 5);
        assert_eq!(checker.overshoot(), 0);
        checker.admit(5_999, 1);
        assert_eq!(checker.overshoot(), 1, "the token is due a millisecond later");
    }

    #[test]
    fn admissions_above_the_capacity_are_counted() {
        let mut checker = SlotChecker::new(&settings(8));
        checker.admit(0, 8);
        checker.release_slots(2);
        checker.admit(10_000, 2);
        assert_eq!(checker.overshoot(), 0);
        checker.admit(20_000, 3);
        assert_eq!(checker.overshoot(), 3);
    }

    #[test]
    fn an_entry_may_be_admitted_while_a_slot_and_a_token_are_free() {
        let mut checker = SlotChecker::new(&settings(12));
        assert!(checker.may_admit(0));
        checker.admit(0, 10);
        assert!(!checker.may_admit(999), "no token");
        assert!(checker.may_admit(1_000));
        checker.admit(2_000, 2);
        assert!(!checker.may_admit(9_000), "no slot");
        checker.release_slots(1);
        assert!(checker.may_admit(9_000));
    }
}
