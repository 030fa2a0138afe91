//! What the protected service was promised, counted beside the line and not by its rules: never more than one batch at
//! once and the pace, never more at once than the capacity.

use vestibule_domain::settings::Settings;

/// Counts what is let through.
#[derive(Debug)]
pub struct Judge {
    /// What may go at most, in thousandths of an entry times seconds of an interval: whole numbers, as they are exact.
    level: i128,
    at_ms: u64,
    batch: i128,
    interval_ms: i128,
    capacity: u64,
    taken: u64,
    overshoot: u64,
}

impl Judge {
    /// Of a new queue.
    pub fn new(settings: &Settings) -> Self {
        let mut judge = Self {
            level: 0,
            at_ms: 0,
            batch: 0,
            interval_ms: 1,
            capacity: 0,
            taken: 0,
            overshoot: 0,
        };
        judge.set(0, settings);
        judge.level = judge.full();
        judge
    }

    /// Other settings are in force: what was earned is kept up to the new batch.
    pub fn set(&mut self, now_ms: u64, settings: &Settings) {
        self.earn(now_ms);
        let interval_ms = i128::from(settings.interval_seconds) * 1_000;
        self.level = self.level * interval_ms / self.interval_ms;
        self.interval_ms = interval_ms;
        self.batch = settings.batch.into();
        self.level = self.level.min(self.full());
        self.capacity = settings.capacity.into();
    }

    /// So many slots came free.
    pub fn freed(&mut self, slots: u64) {
        self.taken -= slots;
    }

    /// So many were let through.
    pub fn served(&mut self, now_ms: u64, entries: u64) {
        if entries == 0 {
            return;
        }
        self.earn(now_ms);
        self.level -= i128::from(entries) * self.interval_ms;
        if self.level < 0 {
            let over = (-self.level + self.interval_ms - 1) / self.interval_ms;
            self.overshoot += u64::try_from(over).unwrap_or(u64::MAX);
            self.level = 0;
        }
        self.taken += entries;
        self.overshoot += self.taken.saturating_sub(self.capacity).min(entries);
    }

    /// How many more than promised.
    pub fn overshoot(&self) -> u64 {
        self.overshoot
    }

    fn earn(&mut self, now_ms: u64) {
        let passed_ms = i128::from(now_ms - self.at_ms);
        self.at_ms = now_ms;
        self.level = (self.level + passed_ms * self.batch).min(self.full());
    }

    fn full(&self) -> i128 {
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
    fn one_batch_and_the_pace_and_no_more() {
        let mut judge = Judge::new(&settings(100));
        judge.served(0, 10);
        judge.served(5_000, 5);
        assert_eq!(judge.overshoot(), 0);
        judge.served(5_999, 1);
        assert_eq!(judge.overshoot(), 1, "a millisecond too early");
    }

    #[test]
    fn never_more_than_the_capacity() {
        let mut judge = Judge::new(&settings(8));
        judge.served(0, 8);
        judge.freed(2);
        judge.served(10_000, 2);
        assert_eq!(judge.overshoot(), 0);
        judge.served(20_000, 3);
        assert_eq!(judge.overshoot(), 3);
    }
}
