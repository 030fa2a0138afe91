//! An operator who turns things now and then: the pace, the capacity, and the whole line off for a while.

use rand::RngExt;
use vestibule_line::{ConfigureOutcome, RecoveryLine};

use super::{World, configuration, now};

impl World {
    /// When somebody first turns anything.
    pub(super) fn first_turn_ms(&mut self) -> u64 {
        if self.scenario.operator {
            self.events.random_range(120_000..300_000)
        } else {
            u64::MAX
        }
    }

    /// Turns something; says when the next time is.
    pub(super) fn turn(&mut self) -> u64 {
        let mut after_ms = self.events.random_range(180_000..480_000);
        let usual = self.scenario.settings.clone();
        if self.settings.paused {
            self.settings.paused = false;
        } else {
            // At times the gate is thrown open: whoever was told to come back late is called at once.
            let part = [0.6, 0.8, 1.0, 1.25, 5.0][self.events.random_range(0..5)];
            match self.events.random_range(0..5) {
                0 => {
                    self.settings.paused = true;
                    after_ms = self.events.random_range(20_000..60_000);
                }
                1 => self.settings.capacity = scaled(usual.capacity, part),
                2 => self.settings.batch = scaled(usual.batch, part),
                _ => {
                    self.settings.capacity = scaled(usual.capacity, part);
                    self.settings.batch = scaled(usual.batch, part);
                }
            }
        }
        self.revisions += 1;
        let new = configuration(&self.settings, self.revisions);
        let configured = now(self.line.configure(&self.queue, &new, false)).expect("it is there");
        assert_eq!(configured, ConfigureOutcome::Changed);
        self.judge.set(self.now_ms, &self.settings);
        self.now_ms + after_ms
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn scaled(usual: u32, part: f64) -> u32 {
    ((f64::from(usual) * part).round() as u32).max(1)
}
