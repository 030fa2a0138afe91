//! The problem of a visitor who waits in a finished queue, or wants to enter it.

use super::{Problem, QUEUE_OVER};
use crate::code::Code;

impl Problem {
    /// The queue is finished. The visitor waited, or wants to enter.
    pub(crate) fn queue_finished(message: Option<&str>) -> Self {
        Self::new(Code::QueueFinished, QUEUE_OVER).with_message(message)
    }

    /// Adds the operator's message to the problem that the queue is finished. Any other problem stays as
    /// it is.
    pub(crate) fn with_message(self, message: Option<&str>) -> Self {
        let message = message.filter(|_| self.code == Code::QueueFinished);
        Self {
            message: message.map(Box::from),
            ..self
        }
    }
}
