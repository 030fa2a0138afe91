//! The entry as its visitor sees it while the line is unavailable.

use vestibule_domain::{
    poll_pacing::{RETRY_MIN_MS, degraded_retry_after_ms, renew_after_ms},
    record::EntryRecord,
    state::EntryState,
};

use super::EntryBody;
use crate::{message::MessageFields, pass::Pass, queue_cache::DegradedQueue};

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
        Self {
            queue: known.queue.to_string(),
            token: record.id.to_string(),
            visit: record.visit().number(),
            state: record.state,
            queue_state: known.queue_state(now_ms),
            message: MessageFields::of(&known.settings),
            place: None,
            lane: None,
            gone_ahead: None,
            look_after_ms: None,
            claim_in_ms: deadline_of(EntryState::Ready).map(left_until),
            expires_in_ms: expires_at_ms.map(left_until),
            position: None,
            ahead: None,
            behind: None,
            ahead_is_expected: false,
            waiting: None,
            estimated_wait_seconds: None,
            retry_after_ms: Some(retry_after_ms),
            leave_on_close: false,
            joined_at_ms: record.joined_at_ms(),
            promoted_at_ms: record.promoted_at_ms,
            claim_by_ms: deadline_of(EntryState::Ready),
            expires_at_ms,
            target_url: known.settings.target_url.clone().filter(|_| pass.is_some()),
            pass,
            durable: None,
            degraded: true,
            proven: None,
            visitor: None,
        }
    }
}
