//! An update of settings that another operator has changed since the one who gives it has seen them.

use serde_json::{Map, Value, json};
use vestibule_backup::{OperatorOrder, SettingsRevision};
use vestibule_domain::{id::QueueId, settings::Settings};

use super::{Admin, Problem};

/// The settings that stored settings mean: with the defaults of those that are not stored, and as they are if one is invalid.
pub(super) fn effective_settings(stored: &Map<String, Value>) -> Map<String, Value> {
    let valid = Settings::from_map(stored).map(|settings| settings.to_map());
    valid.unwrap_or_else(|_| {
        let mut settings = Settings::default().to_map();
        settings.extend(stored.clone());
        settings
    })
}

/// Those of the given settings that have changed since the revision, as they are now, unless they are already what the command
/// wants: it may be the same command whose answer was lost.
pub(super) fn find_overtaken(
    revision: &SettingsRevision,
    given: &Map<String, Value>,
    now: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Map<String, Value> {
    let changed = given.keys().filter_map(|name| Some((name, now.get(name)?)));
    let overtaken =
        changed.filter(|(name, value)| !revision.has(name, value) && wanted.get(*name) != Some(*value));
    overtaken
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

impl Admin {
    /// Adds to the problem of an overtaken update who changed each setting, and when. Any other problem stays as it is.
    pub(super) async fn name_overtakers(&self, queue: &QueueId, problem: Problem) -> Problem {
        let Some(settings) = problem.overtaken_settings() else {
            return problem;
        };
        // Without the log, the refusal is right all the same.
        let Ok(log) = self.backup.read_orders(queue).await else {
            return problem;
        };
        let changes = settings.iter().map(|(name, value)| {
            let order = find_order(&log.orders, name, value);
            json!({
                "field": name,
                "value": value,
                "by": order.map_or("by hand in the table", |order| order.caller.as_deref().unwrap_or("an operator")),
                "at_ms": order.map(|order| order.at_ms),
            })
        });
        problem.with_overtakers(changes.collect())
    }
}

/// The order that gave a setting this value: the last one that changed it, if it was not changed by hand since.
fn find_order<'a>(orders: &'a [OperatorOrder], name: &str, value: &Value) -> Option<&'a OperatorOrder> {
    let last = orders
        .iter()
        .rfind(|order| order.settings_before.contains_key(name))?;
    let revision = SettingsRevision::from_text(last.revision.as_deref()?)?;
    revision.has(name, value).then_some(last)
}
