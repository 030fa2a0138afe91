//! The commands `inspect` and `evict`: show or remove one entry. They accept a visitor id but never return one.

use serde_json::{Value, json};
use vestibule_backup::StoredQueue;
use vestibule_domain::{
    id::{EntryId, IdKey, QueueId, VisitorKind},
    record::Record,
    standing::Standing,
};
use vestibule_engine::write_through;
use vestibule_line::{Departed, Departure, LineError, Look, Missing};

use super::{Admin, Problem, Whom, shelf};

impl Admin {
    /// Removes an entry, whether it is waiting, ready or active.
    pub(super) async fn evict(&self, queue: &QueueId, whom: &Whom) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let id = self.entry_id(queue, &stored, whom);
        match self.line.leave(queue, id, None, Departure::Evict).await? {
            Departed::Gone(change) => {
                let shelf = shelf(queue, &stored);
                let through =
                    write_through::write_through(&*self.line, &*self.backup, &shelf, &change).await?;
                Ok(json!({
                    "queue": queue.as_str(),
                    "token": id.to_string(),
                    "state": change.event.state(),
                    "visit": change.event.visit().number(),
                    "durable": through.durable,
                }))
            }
            Departed::OtherVisit | Departed::NotActive(_) | Departed::Missing(_) => {
                Err(Problem::no_such_entry())
            }
        }
    }

    /// Shows the entry's place in the line and its record in the backup.
    pub(super) async fn inspect(&self, queue: &QueueId, whom: &Whom) -> Result<Value, Problem> {
        let stored = self.stored(queue).await?;
        let id = self.entry_id(queue, &stored, whom);
        let record = self.backup.entry(&shelf(queue, &stored), id).await?;
        let place = match self.line.status(queue, id).await {
            Ok(Look::Here(standing)) => place(&standing),
            Ok(Look::Gone(Missing::Ended)) => json!({ "state": "ended", "in_backup": false }),
            Ok(Look::Gone(Missing::Unknown)) => Value::Null,
            Err(LineError::Unknown) => json!({ "problem": LineError::Unknown.to_string() }),
            Err(error) => return Err(error.into()),
        };
        let kind = match id.kind() {
            VisitorKind::Known => "known",
            VisitorKind::Anon => "anon",
        };
        Ok(json!({
            "queue": queue.as_str(),
            "token": id.to_string(),
            "kind": kind,
            "place": place,
            "record": record.as_ref().map(shown),
        }))
    }

    fn entry_id(&self, queue: &QueueId, stored: &StoredQueue, whom: &Whom) -> EntryId {
        match whom {
            Whom::Token(id) => *id,
            Whom::Visitor(visitor) => {
                IdKey::derive(&self.root_key, queue, &stored.line.salt).entry_id(visitor)
            }
        }
    }
}

fn place(standing: &Standing) -> Value {
    let (state, visit) = (standing.state(), standing.visit().number());
    match standing {
        Standing::Waiting { score, position } => json!({
            "state": state, "visit": visit, "position": position, "score": score.raw(),
            "joined_at_ms": score.joined_at_ms(),
        }),
        Standing::Ready { claim_by_ms, .. } => {
            json!({ "state": state, "visit": visit, "claim_by_ms": claim_by_ms })
        }
        Standing::Active { session_end_ms, .. } => {
            json!({ "state": state, "visit": visit, "expires_at_ms": session_end_ms })
        }
    }
}

fn shown(record: &Record) -> Value {
    json!({
        "state": record.state,
        "visit": record.visit.number(),
        "score": record.score.map(vestibule_domain::score::WaitScore::raw),
        "version": { "epoch": record.version.epoch, "v": record.version.v },
        "joined_at_ms": record.joined_at_ms(),
        "promoted_at_ms": record.promoted_at_ms,
        "claimed_at_ms": record.claimed_at_ms,
        "expires_at_ms": record.expires_at_ms,
        "ended_at_ms": record.ended_at_ms,
        "came_back_at_ms": record.came_back_at_ms,
    })
}
