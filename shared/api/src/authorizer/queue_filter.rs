//! The queues that protect the API of one event.

use vestibule_domain::id::QueueId;

use super::event::AuthorizerEvent;
use crate::config::ProtectedQueues;

/// The configured queues, or fewer of them if the stage of the API names its own.
pub(super) struct QueueFilter<'a> {
    configured: &'a ProtectedQueues,
    of_stage: Option<ProtectedQueues>,
}

impl<'a> QueueFilter<'a> {
    pub(super) fn for_event(configured: &'a ProtectedQueues, event: &AuthorizerEvent) -> Self {
        Self {
            configured,
            // A list that cannot be read protects the API by no queue, rather than by all of them.
            of_stage: event
                .stage_queues
                .as_deref()
                .map(|list| list.parse().unwrap_or_default()),
        }
    }

    pub(super) fn contains(&self, queue: &QueueId) -> bool {
        let is_of_stage = self.of_stage.as_ref().is_none_or(|list| list.contains(queue));
        is_of_stage && self.configured.contains(queue)
    }

    /// The only queue there is; `None` if there may be several.
    pub(super) fn only_queue(&self) -> Option<&QueueId> {
        let list = self.of_stage.as_ref().unwrap_or(self.configured);
        list.only_queue().filter(|queue| self.contains(queue))
    }
}
