//! The poll schedule of clients that poll at a fixed interval. It counts the clients by the phase of the interval, so
//! that the polls of a million clients are not separate events.

/// The clients that poll at one interval.
#[derive(Debug)]
pub(super) struct PollSchedule {
    /// The number of clients that poll at each millisecond of the interval.
    clients_by_phase: Vec<u32>,
    clients: u32,
}

impl PollSchedule {
    /// An empty schedule with this interval.
    pub(super) fn new(interval_ms: u64) -> Self {
        let length = usize::try_from(interval_ms).unwrap_or(usize::MAX);
        Self {
            clients_by_phase: vec![0; length],
            clients: 0,
        }
    }

    /// Adds a client whose first poll is at this time.
    pub(super) fn add(&mut self, first_ms: u64) {
        let phase = self.phase(first_ms);
        self.clients_by_phase[phase] += 1;
        self.clients += 1;
    }

    /// Removes a client whose first poll was at this time.
    pub(super) fn remove(&mut self, first_ms: u64) {
        let phase = self.phase(first_ms);
        self.clients_by_phase[phase] -= 1;
        self.clients -= 1;
    }

    /// The time of the next poll of any client, from this time on. `None` if there is no client.
    pub(super) fn next_ms(&self, from_ms: u64) -> Option<u64> {
        if self.clients == 0 {
            return None;
        }
        let (before, after) = self.clients_by_phase.split_at(self.phase(from_ms));
        let phases = after.iter().chain(before);
        let passed = phases.take_while(|clients| **clients == 0).count();
        Some(from_ms + passed as u64)
    }

    fn phase(&self, at_ms: u64) -> usize {
        usize::try_from(at_ms).unwrap_or(usize::MAX) % self.clients_by_phase.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_polls_once_per_interval_until_removed() {
        let mut schedule = PollSchedule::new(3_000);
        assert_eq!(schedule.next_ms(0), None);
        schedule.add(100);
        schedule.add(6_700);
        schedule.add(9_700);
        assert_eq!(schedule.next_ms(9_701), Some(12_100), "the first client polls");
        assert_eq!(schedule.next_ms(12_100), Some(12_100));
        assert_eq!(schedule.next_ms(12_101), Some(12_700));
        schedule.remove(6_700);
        assert_eq!(
            schedule.next_ms(12_101),
            Some(12_700),
            "another client has the same phase"
        );
        schedule.remove(9_700);
        assert_eq!(schedule.next_ms(12_101), Some(15_100));
        schedule.remove(100);
        assert_eq!(schedule.next_ms(12_101), None);
    }
}
