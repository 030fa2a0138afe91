//! `DELETE /queues/{queue}/entries/{token}`: ends the visit. An active entry becomes completed, any other
//! entry becomes left.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use vestibule_domain::{id::EntryId, score::Visit};
use vestibule_line::{Departed, Departure};

use super::{
    Edge,
    gone::Fate,
    problem::Problem,
    request::{AtEntry, Queries},
    views::Seen,
    visitor::Presented,
};

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    presented: Presented,
    queries: Queries,
) -> Result<StatusCode, Problem> {
    let visit = queries.visit()?;
    let seen = edge.seen(&queue).await?;
    presented.credentials(&seen)?.prove(&seen.ids, id)?;
    edge.depart(&seen, id, visit, Departure::Leave).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl Edge {
    /// Ends a visit. If the visit has already ended, or the entry is in another visit than the named one,
    /// this changes nothing and succeeds.
    pub(super) async fn depart(
        &self,
        seen: &Seen,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<(), Problem> {
        for _ in 0..2 {
            match self.line.leave(&seen.queue, id, visit, departure).await {
                Ok(Departed::Gone(change)) => return self.write(seen, &change).await.map(drop),
                Ok(Departed::OtherVisit) => return Ok(()),
                Ok(Departed::NotActive(standing)) => return Err(Problem::not_your_turn(&standing)),
                Ok(Departed::Missing(missing)) => match self.fate(seen, id, missing).await? {
                    // The visit has already ended, which is what the caller wants.
                    Fate::Ended(_) | Fate::TimedOut(_) | Fate::Unconfirmed(_) => return Ok(()),
                    // The line had lost the entry and has it again, so the next round can end it.
                    Fate::Back => {}
                    other => return Err(other.told(seen)),
                },
                Err(error) => return Err(self.line_failed(&seen.queue, error).await),
            }
        }
        Err(Fate::Unclear.told(seen))
    }
}
