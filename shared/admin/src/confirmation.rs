//! How a command is confirmed.

use vestibule_domain::id::QueueId;
use vestibule_wire::commands::{Command, Whole};

use super::problem::Problem;

/// The values that a destructive command must repeat, so that the console's test button does not
/// run such a command twice by accident. Parsing does not verify the values, because the right ones
/// are known only once the queue was read.
#[derive(Clone, Copy)]
pub(super) struct Confirmation<'a> {
    /// The queue of the command.
    pub(super) queue: &'a QueueId,
    /// The queue's id, repeated.
    pub(super) confirm: Option<&'a str>,
    /// The queue's current epoch.
    pub(super) epoch: Option<u32>,
}

impl<'a> Confirmation<'a> {
    pub(super) fn new(
        queue: &'a QueueId,
        confirm: Option<&'a String>,
        epoch: Option<Whole<0, { u32::MAX }>>,
    ) -> Self {
        Self {
            queue,
            confirm: confirm.map(String::as_str),
            epoch: epoch.map(Whole::get),
        }
    }

    /// The confirmation of a command that needs one, except of `delete`, which may complete an earlier one without.
    pub(super) fn of(command: &'a Command) -> Option<Self> {
        match command {
            Command::Drain(order)
            | Command::Close(order)
            | Command::Restore(order)
            | Command::Reset(order) => Some(Self::new(&order.queue, order.confirm.as_ref(), order.epoch)),
            Command::Finish(order) => Some(Self::new(&order.queue, order.confirm.as_ref(), order.epoch)),
            Command::Evict(order) => Some(Self::new(&order.queue, order.confirm.as_ref(), order.epoch)),
            _ => None,
        }
    }

    /// Succeeds if the values are right for a queue of this epoch.
    ///
    /// # Errors
    /// [`Problem`] that says what to add to the command `op`.
    pub(super) fn verify(self, op: &str, epoch: u32) -> Result<(), Problem> {
        let wrong = if self.confirm != Some(self.queue.as_str()) {
            "confirm"
        } else if self.epoch != Some(epoch) {
            "epoch"
        } else {
            return Ok(());
        };
        Err(Problem::confirmation_needed(
            op,
            wrong,
            self.queue.as_str(),
            epoch,
        ))
    }
}
