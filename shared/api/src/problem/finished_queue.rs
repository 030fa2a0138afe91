//! The problems of a queue that is over: a visitor waits in a finished queue or wants to enter it, or the queue was
//! deleted.

use vestibule_domain::{settings::Settings, tombstone::Tombstone};

use super::{Problem, QUEUE_OVER, queue_over::QueueOver};
use crate::{code::Code, message::MessageFields};

impl Problem {
    /// The queue with these settings is finished. The visitor waited, or wants to enter.
    pub(crate) fn queue_finished(settings: &Settings) -> Self {
        Self::new(Code::QueueFinished, QUEUE_OVER).with_message(settings)
    }

    /// The queue was deleted.
    pub(crate) fn queue_deleted(tombstone: &Tombstone) -> Self {
        let over = QueueOver {
            finish_reason: None,
            message: MessageFields::default(),
            min_epoch: Some(tombstone.epoch),
        };
        Self {
            over: Some(Box::new(over)),
            ..Self::new(
                Code::QueueDeleted,
                "the queue no longer exists, and its places, tokens and passes are void",
            )
        }
    }

    /// Adds the reason and the operator's message to the problem that the queue is finished. Any other problem stays as
    /// it is.
    pub(crate) fn with_message(mut self, settings: &Settings) -> Self {
        self.explain_end(settings);
        self
    }

    /// The same for a problem that is there.
    pub(crate) fn explain_end(&mut self, settings: &Settings) {
        if self.code == Code::QueueFinished {
            self.over = Some(Box::new(QueueOver {
                finish_reason: Some(settings.finish_reason()),
                message: MessageFields::of(settings),
                min_epoch: None,
            }));
        }
    }

    /// Whether it says that the queue is finished, and the line may have learned that after `at_ms`, in Unix milliseconds of
    /// line time.
    pub(crate) fn is_of_end_after(&self, at_ms: u64) -> bool {
        let ended_at_ms = self.last.as_ref().and_then(|last| last.ended_at_ms);
        self.code == Code::QueueFinished && ended_at_ms.is_none_or(|ended_at_ms| ended_at_ms >= at_ms)
    }
}
