//! Sends a crowd: each visitor at its time, and at the end those who are silent are taken out of the line.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    conduct::CrowdPlan,
    scene::Scene,
    visit::{FinishedVisit, end_silent_visit, run_visit},
    visit_record::VisitRecord,
};

/// So many silent visits are ended at once.
const ENDED_AT_ONCE: usize = 32;

/// What a crowd left behind.
pub(crate) struct CrowdOutcome {
    /// A record of each visitor who arrived.
    pub(crate) visits: Vec<VisitRecord>,
    /// How many visits could not be followed, by a fault of this program.
    pub(crate) faults: u64,
}

/// Sends the crowd, and waits until every visit has ended. A stop ends all of them early.
pub(crate) async fn send_crowd(scene: &Arc<Scene>, plan: CrowdPlan) -> CrowdOutcome {
    let began_at = Instant::now();
    let mut stop = scene.stop.clone();
    let mut tasks = JoinSet::new();
    for visit in plan.visits() {
        let arrives_at = began_at + visit.arrives_after;
        tokio::select! {
            biased;
            () = stop.wait() => break,
            () = tokio::time::sleep_until(arrives_at) => {}
        }
        tasks.spawn(run_visit(scene.clone(), visit));
    }
    let (mut visits, mut silent, mut faults) = (Vec::new(), Vec::new(), 0);
    while let Some(finished) = tasks.join_next().await {
        match finished {
            Ok(FinishedVisit::Ended(record)) => visits.push(record),
            Ok(FinishedVisit::Silent(visitor)) => silent.push(visitor),
            Err(_) => faults += 1,
        }
    }
    let ends = stream::iter(silent.into_iter().map(end_silent_visit));
    visits.extend(ends.buffer_unordered(ENDED_AT_ONCE).collect::<Vec<_>>().await);
    CrowdOutcome { visits, faults }
}
