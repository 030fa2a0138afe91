//! Reads the switches that the backup may not have, and notes that it has them: sends `settle_switches.lua`.

use redis::Cmd;
use vestibule_domain::id::QueueId;

use super::{Line, connect::Request, keys::Keys, script::script};
use crate::{LineError, UnsavedSwitches};

script!(SETTLE_SWITCHES, "recovery/settle_switches");

impl Line {
    /// Notes that the backup has the switches up to this serial. Returns `false`, and changes nothing, if there is a later
    /// one.
    pub async fn settle_switches(&self, queue: &QueueId, serial: u64) -> Result<bool, LineError> {
        let call = SETTLE_SWITCHES.call_for_queue(&Keys::new(queue)).arg(serial);
        let reply = call.send(self).await?;
        match reply.outcome() {
            "settled" => Ok(true),
            "later" => Ok(false),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

impl Line {
    /// Returns the switches that the backup may not have; `None` if there are none.
    pub async fn unsaved_switches(&self, queue: &QueueId) -> Result<Option<UnsavedSwitches>, LineError> {
        let mut command = Cmd::new();
        command.arg("HMGET").arg(Keys::new(queue).key("config")).arg(&[
            "epoch",
            "unsaved_switches",
            "switch_serial",
        ]);
        let (epoch, names, serial): (Option<u32>, Option<String>, Option<u64>) =
            self.connection.send(Request::Command(&command)).await?;
        if epoch.is_none() {
            return Err(LineError::QueueNotFound);
        }
        Ok(names.map(|names| {
            let mut names: Vec<_> = names.split_whitespace().map(str::to_owned).collect();
            names.sort_unstable();
            let serial = serial.unwrap_or_default();
            UnsavedSwitches { serial, names }
        }))
    }
}
