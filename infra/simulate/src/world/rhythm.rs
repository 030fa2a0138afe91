//! When those call who call at a fixed interval: counted by the moment of the interval, so that a million of them are no
//! events of their own.

/// Callers at one interval.
#[derive(Debug)]
pub(super) struct Rhythm {
    /// How many call at each millisecond of the interval.
    callers: Vec<u32>,
    all: u32,
}

impl Rhythm {
    /// Nobody calls, at this interval.
    pub(super) fn new(interval_ms: u64) -> Self {
        let length = usize::try_from(interval_ms).unwrap_or(usize::MAX);
        Self {
            callers: vec![0; length],
            all: 0,
        }
    }

    /// Somebody who first called at this moment goes on to call.
    pub(super) fn join(&mut self, first_ms: u64) {
        let beat = self.beat(first_ms);
        self.callers[beat] += 1;
        self.all += 1;
    }

    /// One of those who first called at this moment, or whole intervals from it, calls no more.
    pub(super) fn leave(&mut self, first_ms: u64) {
        let beat = self.beat(first_ms);
        self.callers[beat] -= 1;
        self.all -= 1;
    }

    /// The first moment from then on at which anybody calls; `None` where nobody does.
    pub(super) fn next_ms(&self, from_ms: u64) -> Option<u64> {
        if self.all == 0 {
            return None;
        }
        let (before, after) = self.callers.split_at(self.beat(from_ms));
        let beats = after.iter().chain(before);
        let passed = beats.take_while(|callers| **callers == 0).count();
        Some(from_ms + passed as u64)
    }

    fn beat(&self, at_ms: u64) -> usize {
        usize::try_from(at_ms).unwrap_or(usize::MAX) % self.callers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_calls_once_an_interval_until_they_leave() {
        let mut rhythm = Rhythm::new(3_000);
        assert_eq!(rhythm.next_ms(0), None);
        rhythm.join(100);
        rhythm.join(6_700);
        rhythm.join(9_700);
        assert_eq!(rhythm.next_ms(9_701), Some(12_100), "the first one's");
        assert_eq!(rhythm.next_ms(12_100), Some(12_100));
        assert_eq!(rhythm.next_ms(12_101), Some(12_700));
        rhythm.leave(6_700);
        assert_eq!(rhythm.next_ms(12_101), Some(12_700), "there is another one");
        rhythm.leave(9_700);
        assert_eq!(rhythm.next_ms(12_101), Some(15_100));
        rhythm.leave(100);
        assert_eq!(rhythm.next_ms(12_101), None);
    }
}
