//! `POST /queues/{queue}/entries/{token}/claim`: the visitor confirms to be present, and the ready entry
//! becomes active. The request is idempotent.

use std::sync::Arc;

use axum::extract::State;
use vestibule_line::Claimed;

use super::{
    Edge,
    entry::{EntryBody, Shown},
    problem::Problem,
    request::{AtEntry, Body, Nothing},
    visitor::Presented,
};

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    presented: Presented,
    Body(Nothing): Body<Nothing>,
) -> Result<EntryBody, Problem> {
    let seen = edge.seen(&queue).await?;
    presented.credentials(&seen)?.prove(&seen.ids, id)?;
    let claimed = edge.ask(&seen, id, || edge.line.claim(&queue, id));
    let (standing, change) = match claimed.await? {
        Claimed::Active { standing, change } => (standing, change),
        Claimed::NotYet(standing) => return Err(Problem::not_your_turn(&standing)),
        Claimed::Gone(missing) => return Err(edge.gone(&seen, id, missing).await),
    };
    let through = edge.write(&seen, &change).await?;
    edge.was_not_over(&seen, &standing, &change, &through).await?;
    edge.show(Shown {
        seen: &seen,
        id,
        standing,
        record: through.record,
        durable: Some(through.durable),
        proven: true,
    })
}
