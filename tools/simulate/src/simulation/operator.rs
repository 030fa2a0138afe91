//! The operator, who changes the settings during a run.

use rand::RngExt;
use vestibule_line::ConfigureOutcome;

use super::state::{Simulation, configuration, resolve};
use crate::scenario::Operator;

/// The number of visitors for which the extreme settings are meant. They are scaled for another number.
const EXTREME_VISITORS: u32 = 10_000;

impl Simulation {
    /// When the operator first changes the settings.
    pub(super) fn first_settings_change_ms(&mut self) -> u64 {
        match self.scenario.operator {
            Operator::Absent => u64::MAX,
            Operator::Moderate => self.events_rng.random_range(120_000..300_000),
            Operator::Extreme => 10_000,
            Operator::RaisesRate { at_ms, .. } => at_ms,
        }
    }

    /// Changes the settings, and returns when the operator changes them again.
    pub(super) fn change_settings(&mut self) -> u64 {
        let after_ms = match self.scenario.operator {
            Operator::Extreme => self.draw_extreme_change(),
            Operator::Absent | Operator::Moderate => self.draw_moderate_change(),
            Operator::RaisesRate { factor, .. } => {
                self.settings.batch = self.settings.batch.saturating_mul(factor);
                self.settings.capacity = self.settings.capacity.saturating_mul(factor);
                u64::MAX
            }
        };
        self.outcome.settings_changes += 1;
        self.apply_settings();
        self.now_ms.saturating_add(after_ms)
    }

    /// Applies the settings of the run to the line.
    pub(super) fn apply_settings(&mut self) {
        self.settings_order += 1;
        let new = configuration(&self.settings, self.settings_order);
        let configured = self.line.configure(&self.queue, &new, false);
        assert_eq!(
            resolve(configured).expect("the queue exists"),
            ConfigureOutcome::Changed
        );
        self.checker.apply_settings(self.now_ms, &self.settings);
    }

    fn draw_moderate_change(&mut self) -> u64 {
        let mut after_ms = self.events_rng.random_range(180_000..480_000);
        let usual = self.scenario.settings.clone();
        if self.settings.paused {
            self.settings.paused = false;
            return after_ms;
        }
        // A factor of 5 brings turns at once to visitors who were told to poll late.
        let factor = [0.6, 0.8, 1.0, 1.25, 5.0][self.events_rng.random_range(0..5)];
        match self.events_rng.random_range(0..5) {
            0 => {
                self.settings.paused = true;
                after_ms = self.events_rng.random_range(20_000..60_000);
            }
            1 => self.settings.capacity = scale(usual.capacity, factor),
            2 => self.settings.batch = scale(usual.batch, factor),
            _ => {
                self.settings.capacity = scale(usual.capacity, factor);
                self.settings.batch = scale(usual.batch, factor);
            }
        }
        after_ms
    }

    fn draw_extreme_change(&mut self) -> u64 {
        let factor = f64::from(self.scenario.visitors) / f64::from(EXTREME_VISITORS);
        let (rng, settings) = (&mut self.events_rng, &mut self.settings);
        // Some changes follow each other within the time that a visitor is told to wait.
        let after_ms = match rng.random_range(0..4) {
            0 => rng.random_range(10..1_500),
            _ => rng.random_range(500..40_000),
        };
        if settings.paused {
            settings.paused = false;
            return after_ms;
        }
        match rng.random_range(0..8) {
            0 => settings.paused = true,
            1 | 2 => settings.claim_seconds = [10, 10, 15, 30, 60, 90][rng.random_range(0..6)],
            3 => settings.capacity = scale(rng.random_range(50..=3_000), factor),
            4 | 5 => {
                settings.batch = scale(rng.random_range(1..=50), factor);
                settings.interval_seconds = rng.random_range(1..=20);
            }
            _ => {
                settings.batch = scale(rng.random_range(500..=2_000), factor);
                settings.interval_seconds = 1;
                settings.capacity = scale(5_000, factor);
                return rng.random_range(500..3_000);
            }
        }
        after_ms
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn scale(setting: u32, factor: f64) -> u32 {
    ((f64::from(setting) * factor).round() as u32).max(1)
}
