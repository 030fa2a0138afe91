//! The entry as its visitor sees it while the line is unavailable.

use vestibule_domain::{
    poll_pacing::{RETRY_MIN_MS, degraded_retry_after_ms, renew_after_ms},
    record::EntryRecord,
    state::EntryState,
};
use vestibule_wire::{Entry, Message, Pass};

use crate::entries::view::EntryBody;
use crate::queue::DegradedQueue;

impl EntryBody {
    /// Builds the JSON of an entry from its record while the line is unavailable. The position and
    /// the wait are unknown then.
    pub(crate) fn from_record(
        known: &DegradedQueue,
        record: &EntryRecord,
        pass: Option<Pass>,
        now_ms: u64,
    ) -> Self {
        let deadline_of = |state| record.expires_at_ms.filter(|_| record.state == state);
        let expires_at_ms = deadline_of(EntryState::Active);
        let left_until = |at_ms: u64| at_ms.saturating_sub(now_ms);
        let again_ms = degraded_retry_after_ms(known.claim_ms, rand::random());
        let retry_after_ms = match &pass {
            Some(_) => {
                let left_ms = expires_at_ms.map_or(0, left_until);
                renew_after_ms(known.settings.pass_ms(left_ms), left_ms).max(RETRY_MIN_MS)
            }
            None => again_ms,
        };
        let (queue, token) = (known.queue.to_string(), record.id.to_string());
        let visit = record.visit().number();
        Self(Entry {
            message: Message::of(&known.settings),
            claim_by_ms: deadline_of(EntryState::Ready),
            claim_in_ms: deadline_of(EntryState::Ready).map(left_until),
            expires_at_ms,
            expires_in_ms: expires_at_ms.map(left_until),
            retry_after_ms: Some(retry_after_ms),
            joined_at_ms: record.joined_at_ms(),
            promoted_at_ms: record.promoted_at_ms,
            target_url: known.settings.target_url.clone().filter(|_| pass.is_some()),
            pass,
            degraded: true,
            ..Entry::new(queue, token, visit, record.state, known.queue_state(now_ms))
        })
    }
}
