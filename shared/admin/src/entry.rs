//! The commands `inspect` and `evict` for one entry: show or remove one entry. They accept a visitor id but never
//! return one.

use serde_json::Value;
use vestibule_backup::StoredQueue;
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, IdKey, QueueId, Visitor, VisitorKind},
    record::EntryRecord,
    score::WaitScore,
};
use vestibule_engine::write_through;
use vestibule_line::{EntryLookup, LeaveOutcome, LeaveReason, LineError, NotFound};
use vestibule_wire::results::{
    Eviction, InspectedEntry, Place, RecordKeys, RecordVersion, RecordedVisit, to_value,
};

use super::{Admin, Problem, entry_partition, selectors::EntrySelector};

impl Admin {
    /// Removes an entry, whether it is waiting, ready or active.
    pub(super) async fn evict_one(&self, queue: &QueueId, whom: &EntrySelector) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let id = self.entry_id(queue, &stored, whom).await?;
        match self.line.leave(queue, id, None, LeaveReason::Evict).await? {
            LeaveOutcome::Ended(change) => {
                let partition = entry_partition(queue, &stored);
                let write =
                    write_through::write_through(&self.line, &*self.backup, &partition, &change).await?;
                Ok(to_value(Eviction {
                    queue: queue.to_string(),
                    token: id.to_string(),
                    state: change.event.state(),
                    visit: change.event.visit().number(),
                    durable: write.durable,
                }))
            }
            LeaveOutcome::OtherVisit | LeaveOutcome::NotActive(_) | LeaveOutcome::NotFound(_) => {
                Err(Problem::unknown_entry())
            }
        }
    }

    /// Shows the entry's place in the line, its record in the backup, and the keys of the record's item in the table
    /// `entries`, by which an operator deletes it when its visitor asks for that.
    pub(super) async fn inspect(&self, queue: &QueueId, whom: &EntrySelector) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let partition = entry_partition(queue, &stored);
        let id = self.known_before_anonymous(queue, &stored, whom).await?;
        let record = self.backup.read_entry(&partition, id).await?;
        let place = match self.line.status(queue, id).await {
            Ok(EntryLookup::Found(status)) => Some(self.describe_place(queue, &status).await?),
            Ok(EntryLookup::NotFound(NotFound::Ended(end))) => Some(Place {
                state: Some(end.event.state()),
                visit: Some(end.event.visit().number()),
                ended_at_ms: Some(end.at_ms),
                in_backup: Some(record.as_ref().is_some_and(|record| record.fact >= end.fact())),
                ..Place::default()
            }),
            Ok(EntryLookup::NotFound(NotFound::Unknown { .. })) => None,
            Err(LineError::QueueNotFound) => Some(Place {
                problem: Some(LineError::QueueNotFound.to_string()),
                ..Place::default()
            }),
            Err(error) => return Err(error.into()),
        };
        let source = record.as_ref().and_then(|record| record.source);
        let blocked = self.describe_block(queue, &stored, id, source).await?;
        let kind = match id.kind() {
            VisitorKind::Known => "known",
            VisitorKind::Anon => "anon",
        };
        Ok(to_value(InspectedEntry {
            queue: queue.to_string(),
            token: id.to_string(),
            kind,
            place,
            blocked,
            item: record.is_some().then(|| RecordKeys {
                shard: partition.shard_key(id.shard()),
                entry: id.to_string(),
            }),
            record: record.as_ref().map(describe_record),
        }))
    }

    /// Shows where an entry is, with the position that its visitor is told if it waits.
    async fn describe_place(&self, queue: &QueueId, status: &EntryStatus) -> Result<Place, Problem> {
        let place = Place {
            state: Some(status.state()),
            visit: Some(status.visit().number()),
            ..Place::default()
        };
        Ok(match status {
            EntryStatus::Waiting { score, position } => {
                let view = self.line.queue_view(queue).await?;
                Place {
                    position: Some(view.position_in_lane(*score, *position)),
                    rank_in_line: Some(*position),
                    score: Some(score.raw()),
                    lane: Some(score.lane()),
                    joined_at_ms: Some(score.joined_at_ms()),
                    ..place
                }
            }
            EntryStatus::Ready { claim_by_ms, .. } => Place {
                claim_by_ms: Some(*claim_by_ms),
                ..place
            },
            EntryStatus::Active { session_end_ms, .. } => Place {
                expires_at_ms: Some(*session_end_ms),
                ..place
            },
        })
    }

    /// The entry of a token or of a visitor. Only a visitor needs the root key. A complaint has an id and may not say of which
    /// kind it is. So a visitor without a kind is looked for as both.
    ///
    /// # Errors
    /// [`Problem`] if a known and an anonymous visitor of the id have entries, or if that is not known: the operator has to say
    /// which is meant.
    pub(super) async fn entry_id(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        whom: &EntrySelector,
    ) -> Result<EntryId, Problem> {
        let found = self.find_entries(queue, stored, whom).await?;
        match found[..] {
            [id] => Ok(id),
            _ => Err(kind_needed(
                "a known and an anonymous visitor of this id have entries",
            )),
        }
    }

    /// The entries that the visitor may have: one, or one of each kind, the known one first.
    pub(super) async fn possible_ids(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        whom: &EntrySelector,
    ) -> Result<Vec<EntryId>, Problem> {
        let (visitor, other) = match whom {
            EntrySelector::Token(id) => return Ok(vec![*id]),
            EntrySelector::Visitor(visitor, other) => (visitor, other),
        };
        let mut ids = vec![self.id_of_visitor(queue, stored, visitor).await?];
        if let Some(other) = other {
            ids.push(self.id_of_visitor(queue, stored, other).await?);
        }
        Ok(ids)
    }

    /// The same for a command that only looks: of two entries it shows that of the known visitor.
    async fn known_before_anonymous(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        whom: &EntrySelector,
    ) -> Result<EntryId, Problem> {
        let ids = self.possible_ids(queue, stored, whom).await?;
        for id in &ids {
            if self.has_entry(queue, stored, *id).await.unwrap_or_default() {
                return Ok(*id);
            }
        }
        Ok(ids[0])
    }

    /// The entries that exist of a visitor of either kind, or else the one that a visitor would have: one or two.
    async fn find_entries(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        whom: &EntrySelector,
    ) -> Result<Vec<EntryId>, Problem> {
        let ids = self.possible_ids(queue, stored, whom).await?;
        let [id, other_id] = ids[..] else {
            return Ok(ids);
        };
        if !self.has_entry(queue, stored, other_id).await? {
            return Ok(vec![id]);
        }
        let is_only = !self.has_entry(queue, stored, id).await?;
        Ok(if is_only {
            vec![other_id]
        } else {
            vec![id, other_id]
        })
    }

    /// Whether the backup has a record of the entry, or the line knows it. The newest entries are in the line alone, so nothing
    /// is known without it.
    async fn has_entry(&self, queue: &QueueId, stored: &StoredQueue, id: EntryId) -> Result<bool, Problem> {
        let partition = entry_partition(queue, stored);
        if self.backup.read_entry(&partition, id).await?.is_some() {
            return Ok(true);
        }
        match self.line.status(queue, id).await {
            Ok(EntryLookup::Found(_) | EntryLookup::NotFound(NotFound::Ended(_))) => Ok(true),
            Ok(EntryLookup::NotFound(NotFound::Unknown { .. })) => Ok(false),
            Err(_) => Err(kind_needed(
                "the line does not tell which visitor of this id has an entry",
            )),
        }
    }

    async fn id_of_visitor(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        visitor: &Visitor,
    ) -> Result<EntryId, Problem> {
        let root_key = self
            .root_key
            .get()
            .await
            .map_err(|reason| Problem::root_key_unavailable(&reason))?;
        let ids = IdKey::derive_for_queue(root_key, queue, &stored.metadata.salt)?;
        Ok(ids.entry_id(visitor))
    }
}

/// The problem of an order that may mean either of two visitors.
pub(super) fn kind_needed(why: &str) -> Problem {
    Problem::invalid_field("kind", format!("must be given: {why}"))
}

fn describe_record(record: &EntryRecord) -> RecordedVisit {
    RecordedVisit {
        state: record.state,
        step: record.fact.step.number(),
        step_ms: record.fact.step_ms,
        is_over: record.fact.is_over,
        visit: record.visit().number(),
        score: record.score.map(WaitScore::raw),
        version: RecordVersion {
            epoch: record.version.epoch,
            v: record.version.v,
        },
        joined_at_ms: record.joined_at_ms(),
        promoted_at_ms: record.promoted_at_ms,
        claimed_at_ms: record.claimed_at_ms,
        expires_at_ms: record.expires_at_ms,
        ended_at_ms: record.ended_at_ms,
        source: record.source.map(|source| source.to_string()),
        use_id: record.use_id.map(|use_id| use_id.to_string()),
        is_overlong_wait: record.is_overlong_wait,
        delete_at_ms: record.delete_at_ms,
    }
}
