//! `POST /queues/{queue}/entries`: gives the visitor a place in line.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use uuid::Uuid;
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId, Visitor},
    record::Record,
    standing::Standing,
};
use vestibule_engine::place::place;
use vestibule_line::{Departed, Departure, Entered, Joining, LineError, Look};

use super::{
    Edge,
    entry::{Shown, json},
    gateway::Gateway,
    gone::Fate,
    problem::Problem,
    request::{AtQueue, Body, Nothing},
    views::Seen,
    visitor::{Credentials, Presented, set_cookie},
};

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtQueue(queue): AtQueue,
    presented: Presented,
    gateway: Gateway,
    Body(Nothing): Body<Nothing>,
) -> Result<Response, Problem> {
    edge.driving(&queue, answer(&edge, &queue, presented, gateway))
        .await
}

async fn answer(
    edge: &Edge,
    queue: &QueueId,
    presented: Presented,
    gateway: Gateway,
) -> Result<Response, Problem> {
    let seen = edge.seen(queue).await?;
    let credentials = presented.credentials(&seen)?;
    let (visitor, drawn) = edge.who_enters(&seen, &credentials).await?;
    let id = seen.ids.entry_id(&visitor);
    let mut entered = edge.enters(&seen, id).await?;
    if entered.is_none() {
        // The line still listed a visit that had ended, because it had lost the end. That visit is removed
        // now, so this call begins a new one.
        entered = edge.enters(&seen, id).await?;
    }
    let (how, placed) =
        entered.ok_or_else(|| Problem::recovering("other requests keep changing the entry"))?;
    let mut body = edge.show(Shown {
        seen: &seen,
        id,
        standing: placed.standing,
        record: placed.record,
        durable: placed.durable,
        proven: true,
    })?;
    if drawn {
        body = body.with_visitor(&visitor);
    }
    let status = match how {
        Joining::New if !placed.given_back => StatusCode::CREATED,
        Joining::New | Joining::Kept | Joining::Moved => StatusCode::OK,
    };
    let mut response = json(status, &body);
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, location(&gateway, queue, id));
    if drawn {
        headers.append(header::SET_COOKIE, set_cookie(&visitor, edge.config.local));
    }
    Ok(response)
}

/// The place that the visitor got.
struct Place {
    standing: Standing,
    record: Option<Record>,
    durable: Option<bool>,
    /// The visitor had this place before. Either the line had lost it, or the visitor missed the turn and
    /// came back within the grace.
    given_back: bool,
}

impl Edge {
    /// Gives the visitor a place, or returns the place that the visitor already has. Returns `None` if the
    /// line listed a visit that had ended, or if the line and the backup disagree. The caller may then try
    /// again.
    async fn enters(&self, seen: &Seen, id: EntryId) -> Result<Option<(Joining, Place)>, Problem> {
        let entered = match self.line.enter(&seen.queue, id).await {
            Ok(entered) => entered,
            Err(error) => return Err(self.line_failed(&seen.queue, error).await),
        };
        let (how, standing, change) = match entered {
            Entered::Joined {
                how,
                standing,
                change,
            } => (how, standing, change),
            Entered::Refused(refusal) => return Err(refusal.into()),
        };
        if let Some(change) = &change
            && change.version.epoch != seen.view.configuration.epoch
        {
            self.of_this_generation(seen, id).await?;
        }
        let placed = self.placed(seen, id, how, standing, change).await?;
        Ok(placed.map(|placed| (how, placed)))
    }

    /// Refuses a visitor who entered a queue that was reset after the snapshot was taken, because the token
    /// belongs to the earlier generation. The place is given back.
    async fn of_this_generation(&self, seen: &Seen, id: EntryId) -> Result<(), Problem> {
        self.views.forget(&seen.queue);
        let now = self.seen(&seen.queue).await?;
        if now.view.configuration.generation == seen.view.configuration.generation {
            return Ok(());
        }
        let left = self.line.leave(&seen.queue, id, None, Departure::Leave).await;
        if let Ok(Departed::Gone(change)) = left {
            self.write(&now, &change).await?;
        }
        Err(Problem::recovering(
            "the queue was reset while the visitor entered",
        ))
    }

    /// Writes the place that the line gave to the backup, or returns the place that the visitor had before.
    /// Returns `None` in the cases of [`enters`](Self::enters).
    async fn placed(
        &self,
        seen: &Seen,
        id: EntryId,
        how: Joining,
        standing: Standing,
        change: Option<Change>,
    ) -> Result<Option<Place>, Problem> {
        let given = |record, durable| Place {
            standing,
            record,
            durable,
            given_back: false,
        };
        let Some(change) = change else {
            let record = self.record(seen, id).await;
            let is_over = match &record {
                Some(record) => self.is_over(seen, &standing, record).await?,
                None => false,
            };
            return Ok((!is_over).then(|| given(record, None)));
        };
        let shelf = seen.shelf();
        let placed = place(&*self.line, &*self.backup, &shelf, how, standing, &change).await;
        self.wakes.wake(id);
        match placed {
            Ok(placed) => Ok(placed.map(|placed| Place {
                standing: placed.standing,
                record: placed.record,
                durable: Some(placed.durable),
                given_back: placed.given_back,
            })),
            // The visitor has the place anyway, and the line returns it to every later request.
            Err(LineError::JournalFull) if how == Joining::Kept => Ok(Some(given(None, Some(false)))),
            Err(error) => Err(self.line_failed(&seen.queue, error).await),
        }
    }

    /// Returns the visitor who enters, and whether the server generated the visitor's id. A visitor who
    /// joined anonymously and then logged in keeps the anonymous place. That place counts only while it is
    /// live or can be entered again within the grace.
    async fn who_enters(&self, seen: &Seen, credentials: &Credentials) -> Result<(Visitor, bool), Problem> {
        match (credentials.known(), credentials.anonymous()) {
            (Some(known), Some(anonymous)) => {
                let id = seen.ids.entry_id(anonymous);
                let stands = match self.line.status(&seen.queue, id).await {
                    Ok(Look::Here(_)) => true,
                    // The line may have lost the entry, or the visitor missed the turn and is back within
                    // the grace.
                    Ok(Look::Gone(missing)) => {
                        let fate = self.fate(seen, id, missing).await?;
                        matches!(fate, Fate::Back) || fate.grace_until_ms(seen).is_some()
                    }
                    Err(error) => return Err(self.line_failed(&seen.queue, error).await),
                };
                let visitor = if stands { anonymous } else { known };
                Ok((visitor.clone(), false))
            }
            (Some(visitor), None) | (None, Some(visitor)) => Ok((visitor.clone(), false)),
            (None, None) => Ok((Visitor::from_random(Uuid::new_v4()), true)),
        }
    }
}

fn location(gateway: &Gateway, queue: &QueueId, id: EntryId) -> HeaderValue {
    let location = format!("{}/queues/{queue}/entries/{id}", gateway.base_path);
    // No client can have used a base path that is not a valid header value.
    HeaderValue::from_str(&location).unwrap_or_else(|_| HeaderValue::from_static("/"))
}
