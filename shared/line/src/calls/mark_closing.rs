//! Marks a waiting entry whose visitor closes the page: sends `mark_closing.lua`. A plain command removes the mark.

use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};

use super::{Line, connect::Request, keys::Keys, leave::visit_arg, script::script};
use crate::{LineError, MarkClosingOutcome};

script!(MARK_CLOSING, "presence/mark_closing");

impl Line {
    /// Marks a waiting entry, from which the time until its end counts. If `visit` is given, the entry is marked only if
    /// its current visit is that one. Does nothing if the queue does not have `leave_on_close`, or if line time is
    /// uncertain.
    pub async fn mark_closing(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
    ) -> Result<MarkClosingOutcome, LineError> {
        let call = self
            .begin_call(&MARK_CLOSING, queue)
            .arg(id.to_member())
            .arg(visit_arg(visit))
            .may_run_twice();
        let reply = call.send(self).await?;
        match reply.outcome() {
            "marked" => Ok(MarkClosingOutcome::Marked),
            "ignored" => Ok(MarkClosingOutcome::Ignored),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

impl Line {
    /// Removes the mark of an entry, if it has one. Succeeds if the line does not have the queue.
    pub async fn remove_closing_mark(&self, queue: &QueueId, id: EntryId) -> Result<(), LineError> {
        let mut command = redis::cmd("ZREM");
        command.arg(Keys::new(queue).key("closing")).arg(id.to_member());
        let _removed: u64 = self.connection.send(Request::Command(&command)).await?;
        Ok(())
    }
}
