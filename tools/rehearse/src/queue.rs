//! The queue of a rehearsal, by the commands of operators: its settings, its report, its creation and its end.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use vestibule_crowd::checks::PaceSetting;

use crate::{
    admin::{AdminChannel, AdminError},
    server_report::ServerReport,
};

/// The settings of a queue, as far as a rehearsal judges by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct QueueSettings {
    /// The most slots at once.
    pub(crate) capacity: u64,
    /// How many entries are promoted per interval.
    batch: u64,
    interval_seconds: u64,
    /// Whether load reports move the pace.
    adaptive: bool,
    batch_max: Option<u64>,
}

impl QueueSettings {
    /// The highest pace that the settings allow.
    pub(crate) fn pace(&self) -> PaceSetting {
        let highest = self.batch_max.filter(|_| self.adaptive);
        PaceSetting {
            batch: highest.unwrap_or(self.batch),
            interval_seconds: self.interval_seconds,
        }
    }
}

/// A queue, and the way to its operators' commands.
pub(crate) struct OperatedQueue {
    admin: AdminChannel,
    queue: String,
    /// Whether the rehearsal created the queue.
    is_own: bool,
    epoch: u64,
    /// The settings at the start.
    pub(crate) settings: QueueSettings,
    /// The report at the start.
    before: ServerReport,
}

impl OperatedQueue {
    /// Opens the queue of a rehearsal. With settings, it is created and must not exist before.
    pub(crate) async fn open(
        admin: AdminChannel,
        queue: &str,
        new: Option<&Map<String, Value>>,
    ) -> Result<Self, AdminError> {
        if let Some(settings) = new {
            let created = admin
                .run(json!({ "op": "create", "queue": queue, "settings": settings }))
                .await?;
            if created["created"] != json!(true) {
                return Err(AdminError::Refused {
                    op: "create".to_owned(),
                    detail: format!("the queue {queue} exists already; leave out --settings to use it"),
                });
            }
        }
        let described = admin.run(json!({ "op": "describe", "queue": queue })).await?;
        let settings = QueueSettings::deserialize(&described["settings"]);
        let settings = settings.map_err(|error| AdminError::Unreachable {
            op: "describe".to_owned(),
            reason: format!("the queue {queue} has no settings in force: {error}"),
        })?;
        let before = read_report(&admin, queue).await?;
        Ok(Self {
            queue: queue.to_owned(),
            is_own: new.is_some(),
            epoch: described["epoch"].as_u64().unwrap_or_default(),
            admin,
            settings,
            before,
        })
    }

    /// What the server has counted since the start.
    pub(crate) async fn report(&self) -> Result<ServerReport, AdminError> {
        let now = read_report(&self.admin, &self.queue).await?;
        Ok(now.since(&self.before))
    }

    /// Deletes the queue, if the rehearsal created it.
    pub(crate) async fn delete_if_own(&self) -> Result<(), AdminError> {
        if self.is_own {
            let confirmed =
                json!({ "op": "delete", "queue": self.queue, "confirm": self.queue, "epoch": self.epoch });
            self.admin.run(confirmed).await?;
        }
        Ok(())
    }
}

async fn read_report(admin: &AdminChannel, queue: &str) -> Result<ServerReport, AdminError> {
    let report = admin.run(json!({ "op": "report", "queue": queue })).await?;
    serde_json::from_value(report).map_err(|error| AdminError::Unreachable {
        op: "report".to_owned(),
        reason: format!("its answer is of another version: {error}"),
    })
}
