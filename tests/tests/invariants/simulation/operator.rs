//! The operator.

use rand::RngExt;
use vestibule_line::RecoveryLine;
use vestibule_tests::lines::configuration;

use super::{Due, Simulation};

impl Simulation {
    /// An operator turns everything, and to extremes: at times the line hardly moves, and everybody is told to come
    /// back late; then the gate is thrown open, and whoever was far back is called at once. A pause is lifted soon.
    pub(super) async fn change_settings(&mut self) {
        let (rng, settings) = (&mut self.rng, &mut self.settings);
        // At times several within the time that somebody was told to wait.
        let mut after_ms = match rng.random_range(0..4) {
            0 => rng.random_range(10..1_500),
            _ => rng.random_range(500..40_000),
        };
        if settings.paused {
            settings.paused = false;
        } else {
            match rng.random_range(0..8) {
                0 => settings.paused = true,
                1 | 2 => settings.claim_seconds = [10, 10, 15, 30, 60, 90][rng.random_range(0..6)],
                3 => settings.capacity = rng.random_range(50..=3_000),
                4 | 5 => {
                    settings.batch = rng.random_range(1..=50);
                    settings.interval_seconds = rng.random_range(1..=20);
                }
                _ => {
                    settings.batch = rng.random_range(500..=2_000);
                    settings.interval_seconds = 1;
                    settings.capacity = 5_000;
                    after_ms = rng.random_range(500..3_000);
                }
            }
        }
        self.changes += 1;
        self.configure().await;
        self.plan(after_ms, Due::Settings);
    }

    pub(super) fn claim_ms_before(&self, age_ms: u64) -> u64 {
        let then_ms = self.clock.now_ms() - age_ms;
        let seen = self.in_force.iter().rfind(|(from_ms, _)| *from_ms <= then_ms);
        // The first ones are as old as the queue.
        seen.or(self.in_force.first())
            .map_or(0, |(_, settings)| settings.claim_ms())
    }

    pub(super) async fn configure(&mut self) {
        self.in_force.push((self.clock.now_ms(), self.settings.clone()));
        let configuration = configuration(&self.settings);
        let configured = self.line.configure(&self.queue, &configuration, true);
        configured.await.expect("configure");
    }
}
