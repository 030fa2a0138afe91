//! The switches while the backup is away: they act on the line at once, and the backup follows.

use serde_json::{Map, Value};
use tracing::warn;
use vestibule_domain::{
    id::QueueId,
    settings::{SWITCHES, Settings},
};
use vestibule_engine::{
    switches::{save_switches, switch_line},
    sync::SyncError,
};
use vestibule_wire::results::SettingsChange;

use super::{Admin, Problem};

impl Admin {
    /// Changes the one setting of a switch to what `change` returns, which gets all stored settings, or those in force while
    /// the backup is away. What is `beside` it changes in the backup alone.
    pub(super) async fn change_switch(
        &self,
        queue: &QueueId,
        name: &str,
        beside: &Map<String, Value>,
        change: impl Fn(&Map<String, Value>) -> Result<Value, Problem> + Send + Sync,
    ) -> Result<SettingsChange, Problem> {
        match self.change_stored_switch(queue, name, beside, &change).await {
            Err(problem) if problem.is_of_absent_backup() => {
                // If the line does not answer either, the first problem is the one to look at.
                let switched = self.change_line_switch(queue, name, change).await;
                switched?.ok_or(problem)
            }
            answer => answer,
        }
    }

    /// Changes a switch in the line alone. Returns `None` if the line does not answer.
    async fn change_line_switch(
        &self,
        queue: &QueueId,
        name: &str,
        change: impl Fn(&Map<String, Value>) -> Result<Value, Problem>,
    ) -> Result<Option<SettingsChange>, Problem> {
        let Some(name) = SWITCHES.into_iter().find(|switch| *switch == name) else {
            return Ok(None);
        };
        let change = |settings: &Settings| {
            let mut map = settings.to_map();
            map.insert(name.to_owned(), change(&map)?);
            Ok::<_, Problem>(settings.clone().with_switches(&map))
        };
        let (configuration, changed) = match switch_line(&self.line, queue, name, change).await {
            Ok(switched) => switched,
            Err(problem) if problem.is_of_command() => return Err(problem),
            Err(_) => return Ok(None),
        };
        warn!(
            event = "queue.switched_without_backup", %queue, switch = name,
            "a switch is in force in the line alone, because the backup is away; the promoter stores it when it can"
        );
        Ok(Some(SettingsChange {
            queue: queue.to_string(),
            changed,
            superseded: false,
            stored: false,
            settings: configuration.settings.into(),
            settings_before: None,
            revision: configuration.revision,
            stored_settings_problem: None,
            left_out: None,
        }))
    }

    /// Saves in the backup what the line took while the backup was away, so that the command that follows changes the
    /// settings in force. Without an answer of the line, the stored settings are all there is.
    pub(super) async fn save_switches(&self, queue: &QueueId) -> Result<(), Problem> {
        match save_switches(&self.line, &*self.backup, queue).await {
            Err(SyncError::Backup(error)) => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
