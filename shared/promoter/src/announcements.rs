//! Observes the queues for the event bus: which switches are in force, and how the promoter's work goes.

use std::{collections::BTreeSet, sync::Arc};

use tokio::time::timeout;
use tracing::debug;
use vestibule_domain::{
    event_outbox::{QueueLife, QueueObservation},
    id::QueueId,
    queue_event::QueueHealth,
};
use vestibule_line::OperatorView;

use super::{announcer::Announcer, queue_steps::TICK_TIMEOUT, run::Promoter, steps::PromoterStep};

/// The trouble of a queue that has dead letters. The others have the name of the step that fails.
const DEAD_LETTERS: &str = "dead-letters";

impl Promoter {
    /// Starts to tell the event bus what has changed in a queue, if there is a bus and it is time to.
    pub(super) fn start_announcement_if_due(self: &Arc<Self>, queue: &QueueId) {
        if let Some(announcer) = &self.announcer
            && announcer.take_turn(queue)
        {
            self.start_step(PromoterStep::Announce(queue.clone()));
        }
    }

    /// Tells the event bus what has changed in a queue. No other step waits for this one, which may take some seconds.
    pub(super) async fn announce_changes(&self, queue: &QueueId) {
        let Some(announcer) = &self.announcer else {
            return;
        };
        let _permit = announcer.permits.acquire().await;
        let announced = match self.observe(announcer, queue).await {
            Ok(Some(seen)) => announcer.announce(queue, &seen).await,
            Ok(None) => Ok(()),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = announced {
            // A failing backup fails other steps too, and those are in the log and in the queue's troubles.
            debug!(event = "queue.announcement_failed", %queue, problem, "could not look for changes of the queue");
        }
    }

    /// What the promoter sees of a queue; `None` if the queue does not exist any more.
    async fn observe(
        &self,
        announcer: &Announcer,
        queue: &QueueId,
    ) -> Result<Option<QueueObservation>, String> {
        let Some(health) = self.registry.health(queue) else {
            return Ok(None);
        };
        let view = self.view_current_queue(queue).await;
        let known = announcer.known_life(queue).await?;
        let Some(life) = self.find_life(queue, view.as_ref(), known).await? else {
            return Ok(None);
        };
        // A line with the data of an earlier life is being restored.
        let view = view.filter(|view| life_of(view) == life);
        Ok(Some(QueueObservation {
            life,
            switches: view
                .as_ref()
                .map(|view| view.configuration.switches_in_force(view.now_ms)),
            health: with_dead_letters(health, view.as_ref()),
            at_ms: self.clock_watch.now_ms(),
        }))
    }

    /// Reads a queue from the line, if the last tick found the line as recent as the fence. So an old line, which has old
    /// switches, announces nothing.
    async fn view_current_queue(&self, queue: &QueueId) -> Option<OperatorView> {
        if !self.registry.has_ticked(queue) {
            return None;
        }
        timeout(TICK_TIMEOUT, self.line.queue_view(queue))
            .await
            .ok()?
            .ok()
    }

    /// The life of a queue. If the line shows another one than the outbox, the backup decides.
    async fn find_life(
        &self,
        queue: &QueueId,
        view: Option<&OperatorView>,
        known: Option<QueueLife>,
    ) -> Result<Option<QueueLife>, String> {
        let seen = view.map(life_of);
        if known.is_some() && (seen.is_none() || seen == known) {
            return Ok(known);
        }
        let reading = timeout(TICK_TIMEOUT, self.backup.read_queue(queue)).await;
        let stored = reading
            .map_err(|_| "the backup did not answer in time".to_owned())?
            .map_err(|error| error.to_string())?;
        Ok(stored.map(|stored| QueueLife::new(stored.metadata.generation, &stored.metadata.salt)))
    }
}

fn life_of(view: &OperatorView) -> QueueLife {
    let configuration = &view.configuration;
    QueueLife::new(configuration.generation, &configuration.salt)
}

fn with_dead_letters(health: QueueHealth, view: Option<&OperatorView>) -> QueueHealth {
    if view.is_none_or(|view| view.dead_letters == 0) {
        return health;
    }
    let mut troubles = match health {
        QueueHealth::Troubled(troubles) => troubles,
        QueueHealth::Sound | QueueHealth::Unknown => BTreeSet::new(),
    };
    troubles.insert(DEAD_LETTERS.to_owned());
    QueueHealth::Troubled(troubles)
}
