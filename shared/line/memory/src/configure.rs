//! How a configuration comes into force, and switches that the backup does not have.

use vestibule_domain::{configuration::Configuration, settings::Settings};
use vestibule_line::{ConfigureOutcome, SwitchOrder, UnsavedSwitches};

use super::queue::Queue;

impl Queue {
    /// Puts a configuration in force. The doc of
    /// [`Line::configure`](crate::RecoveryLine::configure) has the rules.
    pub(super) fn configure(&mut self, now_us: u64, new: &Configuration) -> ConfigureOutcome {
        let old = &self.configuration;
        if new.epoch > old.epoch {
            return ConfigureOutcome::NeedsRestore;
        }
        if new.epoch < old.epoch || new.settings_order < old.settings_order {
            return ConfigureOutcome::Superseded;
        }
        if !self.unsaved_switches.is_empty() {
            return ConfigureOutcome::SwitchesUnsaved;
        }
        self.put_in_force(now_us, new)
    }

    /// Puts a switch in force that the backup does not have. The doc of [`Line::switch`](crate::RecoveryLine::switch) has
    /// the rules.
    pub(super) fn switch(&mut self, now_us: u64, order: &SwitchOrder) -> ConfigureOutcome {
        let (old, new) = (&self.configuration, &order.configuration);
        if new.epoch > old.epoch {
            return ConfigureOutcome::NeedsRestore;
        }
        let is_outdated = new.epoch < old.epoch || new.settings_order < old.settings_order;
        if is_outdated || old.revision != order.revision_before {
            return ConfigureOutcome::Superseded;
        }
        let outcome = self.put_in_force(now_us, new);
        if outcome == ConfigureOutcome::Changed {
            self.unsaved_switches.insert(order.name);
            self.switch_serial += 1;
        }
        outcome
    }

    pub(super) fn list_unsaved_switches(&self) -> Option<UnsavedSwitches> {
        (!self.unsaved_switches.is_empty()).then(|| UnsavedSwitches {
            serial: self.switch_serial,
            names: self
                .unsaved_switches
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
        })
    }

    /// Notes that the backup has the switches up to this serial. Returns `false` if there is a later one.
    pub(super) fn settle_switches(&mut self, serial: u64) -> bool {
        let is_last = self.switch_serial <= serial;
        if is_last {
            self.unsaved_switches.clear();
        }
        is_last
    }

    /// Puts a configuration of the queue's epoch in force.
    fn put_in_force(&mut self, now_us: u64, new: &Configuration) -> ConfigureOutcome {
        let old = &mut self.configuration;
        if old.revision == new.revision && old.settings == new.settings {
            old.settings_order = new.settings_order;
            old.opened_at_ms = new.opened_at_ms.or(old.opened_at_ms);
            return ConfigureOutcome::Unchanged;
        }
        let now_ms = self.now_ms(now_us);
        // A pause, the bucket level and a claim floor begin now. The new version keeps line time
        // from going back behind them.
        self.take_next_version(now_us);
        let to = new.settings.pace_in_force(self.load, now_ms).pace;
        self.bucket = self.bucket.refill_to_pace(self.bucket_pace, to, now_ms);
        self.bucket_pace = to;
        if changes_rate(self.settings(), &new.settings) {
            self.averages = self.averages.restart_rate(now_ms);
        }
        match (self.settings().paused, new.settings.paused) {
            (false, true) => self.paused_at_ms = now_ms,
            (true, false) => {
                self.paused_ms += now_ms - self.paused_at_ms;
                self.paused_at_ms = 0;
            }
            _ => {}
        }
        let old_claim_ms = self.claim_ms(now_ms);
        if new.settings.claim_ms() < old_claim_ms {
            self.claim_floor_ms = old_claim_ms;
            self.claim_floor_until_ms = now_ms + old_claim_ms;
        }
        self.passes_until_ms = self.passes_until_after(&new.settings, now_ms);
        let is_scheduled_late = self.last_order > 0 && new.settings.opens_at_ms.is_some();
        let opened_at_ms = self.configuration.find_opening(now_ms, is_scheduled_late);
        self.configuration = Configuration {
            opened_at_ms: opened_at_ms.or(new.opened_at_ms),
            ..new.clone()
        };
        ConfigureOutcome::Changed
    }
}

/// Whether the rate at which entries are served may be another one with the new settings.
fn changes_rate(old: &Settings, new: &Settings) -> bool {
    old.pace() != new.pace()
        || old.capacity != new.capacity
        || old.mode != new.mode
        || old.adaptive != new.adaptive
}
