//! The command `defaults`: the settings that a new queue gets by the beginning of its id.

use serde_json::{Map, Value};
use tracing::warn;
use vestibule_backup::{Backup, BackupError, StoredDefaults, StoredSettings};
use vestibule_domain::{id::QueueId, queue_pattern::QueuePattern, settings::Settings};
use vestibule_wire::results::{AllDefaults, PrefixDefaults, to_value};

use vestibule_wire::commands::DefaultsOrder;

use super::{Admin, Problem, defaults_action::DefaultsAction, settings::reject_blocked};

/// The defaults of one pattern, valid or not.
#[derive(Debug)]
pub(super) struct PatternDefaults {
    pub(super) pattern: QueuePattern,
    pub(super) settings: StoredSettings,
}

/// The stored defaults of all patterns, the longest pattern first.
#[derive(Debug)]
pub(super) struct DefaultsTable(Vec<PatternDefaults>);

impl DefaultsTable {
    /// Reads the defaults. Skips an item whose key is no pattern: the command `defaults` shows it with the problem.
    ///
    /// # Errors
    /// [`BackupError`] if the backup cannot be read.
    pub(super) async fn read(backup: &dyn Backup) -> Result<Self, BackupError> {
        let mut valid = Vec::new();
        for StoredDefaults { pattern, settings } in backup.list_defaults().await? {
            match pattern.parse() {
                Ok(pattern) => valid.push(PatternDefaults { pattern, settings }),
                Err(error) => warn!(
                    event = "defaults.skipped", pattern, %error,
                    "skipped defaults in the queues table whose key is no pattern: rename or delete the item"
                ),
            }
        }
        valid.sort_by_key(|defaults| std::cmp::Reverse(defaults.pattern.prefix_len()));
        Ok(Self(valid))
    }

    /// The defaults of the longest pattern that matches the queue.
    pub(super) fn find(&self, queue: &QueueId) -> Option<&PatternDefaults> {
        self.0.iter().find(|defaults| defaults.pattern.matches(queue))
    }
}

impl Admin {
    /// Shows, replaces or removes the defaults of a pattern. They act at `create` alone, so no queue changes.
    pub(super) async fn defaults(&self, order: &DefaultsOrder) -> Result<Value, Problem> {
        match DefaultsAction::of(order)? {
            DefaultsAction::Show(pattern) => self.show_defaults(pattern).await,
            DefaultsAction::Replace(pattern, given) => {
                let settings = self.validate_defaults(&given)?;
                let replaced = self.backup.replace_defaults(&pattern, Some(&settings)).await?;
                Ok(to_value(PrefixDefaults {
                    prefix: pattern.to_string(),
                    settings: Some(settings.into()),
                    replaced: Some(replaced),
                    ..PrefixDefaults::default()
                }))
            }
            DefaultsAction::Remove(pattern) => {
                let removed = self.backup.replace_defaults(&pattern, None).await?;
                Ok(to_value(PrefixDefaults {
                    prefix: pattern.to_string(),
                    removed: Some(removed),
                    ..PrefixDefaults::default()
                }))
            }
        }
    }

    async fn show_defaults(&self, only: Option<QueuePattern>) -> Result<Value, Problem> {
        let only = only.map(|pattern| pattern.to_string());
        let mut stored = self.backup.list_defaults().await?;
        stored.sort_by(|a, b| a.pattern.cmp(&b.pattern));
        let shown = stored
            .into_iter()
            .filter(|defaults| only.as_ref().is_none_or(|only| *only == defaults.pattern));
        let mut rows: Vec<_> = shown.map(|defaults| self.to_row(&defaults)).collect();
        Ok(match only {
            Some(prefix) => to_value(rows.pop().unwrap_or_else(|| PrefixDefaults {
                prefix,
                ..PrefixDefaults::default()
            })),
            None => to_value(AllDefaults { defaults: rows }),
        })
    }

    fn to_row(&self, stored: &StoredDefaults) -> PrefixDefaults {
        let validated = stored
            .settings
            .parse()
            .and_then(|settings| self.policy.validate(settings));
        let problem = match (stored.pattern.parse::<QueuePattern>(), validated) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Err(error)) => Some(error.to_string()),
            (Ok(_), Ok(_)) => None,
        };
        PrefixDefaults {
            prefix: stored.pattern.clone(),
            settings: Some(stored.settings.to_value()),
            problem,
            ..PrefixDefaults::default()
        }
    }

    /// The given settings in the form in which they are stored, and no others.
    fn validate_defaults(&self, given: &Map<String, Value>) -> Result<Map<String, Value>, Problem> {
        reject_blocked(given)?;
        let settings = Settings::from_map(given).and_then(|settings| self.policy.validate(settings));
        let mut all = settings
            .map_err(|error| Problem::invalid_setting(&error))?
            .to_map();
        all.retain(|name, _| given.contains_key(name));
        Ok(all)
    }
}
