//! The problem of a visitor who waits in a finished queue, or wants to enter it.

use vestibule_domain::settings::Settings;

use super::{Problem, QUEUE_OVER};
use crate::{code::Code, message::MessageFields};

impl Problem {
    /// The queue with these settings is finished. The visitor waited, or wants to enter.
    pub(crate) fn queue_finished(settings: &Settings) -> Self {
        Self::new(Code::QueueFinished, QUEUE_OVER).with_message(settings)
    }

    /// Adds the operator's message to the problem that the queue is finished. Any other problem stays as
    /// it is.
    pub(crate) fn with_message(self, settings: &Settings) -> Self {
        let is_finished = self.code == Code::QueueFinished;
        Self {
            message: is_finished.then(|| Box::new(MessageFields::of(settings))),
            ..self
        }
    }
}
