//! The later life of an entry of one queue in memory: claim, validation, extension and end.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    consumption::{Consumption, UseId},
    entry_status::EntryStatus,
    fact::Fact,
    id::EntryId,
    score::Visit,
    state::EntryState,
};
use vestibule_line::{ClaimOutcome, ExtendOutcome, SessionExtension, ValidateOutcome, Validation};

use super::queue::Queue;

impl Queue {
    /// Makes an entry active until `session_end_ms`. It was ready, or its visitor has a pass which
    /// proves that it was active before.
    fn start_session(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Visit,
        session_end_ms: u64,
    ) -> (EntryStatus, Change) {
        self.remove_entry(id);
        self.put_active(id, visit, session_end_ms);
        self.totals.claimed += 1;
        let status = EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms: self.now_ms(now_us),
        };
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        (status, self.new_change(now_us, id, event))
    }

    pub(super) fn claim(&mut self, now_us: u64, id: EntryId) -> ClaimOutcome {
        let now_ms = self.now_ms(now_us);
        let status = match self.find_entry(now_ms, id) {
            Ok(status) => status,
            Err(not_found) => return ClaimOutcome::NotFound(not_found),
        };
        match status {
            EntryStatus::Waiting { .. } => ClaimOutcome::StillWaiting(status),
            EntryStatus::Ready { visit, .. } => {
                if let Some(presence) = &mut self.presence {
                    presence.check_ins += 1;
                }
                let session_end_ms = now_ms + self.settings().session_ms();
                let (status, change) = self.start_session(now_us, id, visit, session_end_ms);
                ClaimOutcome::Active { status, change }
            }
            EntryStatus::Active {
                visit,
                session_end_ms,
                ..
            } => {
                self.fast_tracked.remove(&id);
                let event = Event::Claimed {
                    visit,
                    session_end_ms,
                };
                let change = self.new_change(now_us, id, event);
                ClaimOutcome::Active { status, change }
            }
        }
    }

    /// Ends a live visit.
    pub(super) fn end_visit(
        &mut self,
        version: Version,
        at_ms: u64,
        id: EntryId,
        fact: Fact,
        how: EndReason,
    ) -> Change {
        let end = Change {
            id,
            version,
            at_ms,
            event: Event::Ended { fact, how },
            source: None,
        };
        self.remove_entry(id);
        self.count_end(how);
        self.ended.add_unsettled(end);
        end
    }

    /// Adds the end of one visit to the totals.
    pub(super) fn count_end(&mut self, how: EndReason) {
        let totals = &mut self.totals;
        let total = match how {
            EndReason::Completed | EndReason::Consumed(_) => &mut totals.completed,
            EndReason::Left => &mut totals.left,
            EndReason::Evicted => &mut totals.evicted,
            EndReason::NoShow => &mut totals.no_shows,
            EndReason::Expired => &mut totals.expired,
            EndReason::Absence => &mut totals.absences,
            EndReason::OverlongWait => &mut totals.overlong_waits,
            EndReason::Dismissed => &mut totals.dismissed,
        };
        *total += 1;
    }

    pub(super) fn validate(&mut self, now_us: u64, id: EntryId, validation: Validation) -> ValidateOutcome {
        let now_ms = self.now_ms(now_us);
        let mut status = match self.find_entry(now_ms, id) {
            Ok(status) => status,
            Err(not_found) => return ValidateOutcome::NotFound(not_found),
        };
        let visit = status.visit();
        if validation.visit.is_some_and(|named| named != visit) {
            return ValidateOutcome::OtherVisit;
        }
        let mut change = None;
        let state = status.state();
        if state != EntryState::Active {
            let pass_end_ms = validation.reactivate_until_ms.filter(|end_ms| *end_ms > now_ms);
            let session_end_ms = if state == EntryState::Ready && validation.claims {
                now_ms + self.settings().session_ms()
            } else if let Some(pass_end_ms) = pass_end_ms {
                // The entry was active before the line lost that fact, and the pass proves it.
                pass_end_ms
            } else {
                return ValidateOutcome::NotActive(status);
            };
            let (active, claimed) = self.start_session(now_us, id, visit, session_end_ms);
            (status, change) = (active, Some(claimed));
        }
        if validation.consumes {
            let version = self.take_next_version(now_us);
            let how = build_end_reason(&status, validation.use_id);
            change = Some(self.end_visit(version, now_ms, id, Fact::ended(visit), how));
        }
        ValidateOutcome::Active { status, change }
    }

    pub(super) fn extend(&mut self, now_us: u64, id: EntryId, extension: SessionExtension) -> ExtendOutcome {
        let status = match self.find_entry(self.now_ms(now_us), id) {
            Ok(status) => status,
            Err(not_found) => return ExtendOutcome::NotFound(not_found),
        };
        let visit = status.visit();
        if extension.visit.is_some_and(|named| named != visit) {
            return ExtendOutcome::OtherVisit;
        }
        let EntryStatus::Active {
            session_end_ms: old_end_ms,
            now_ms,
            ..
        } = status
        else {
            return ExtendOutcome::NotActive(status);
        };
        let requested_end_ms = now_ms + u64::from(extension.seconds) * 1_000;
        let session_end_ms = requested_end_ms.min(extension.latest_end_ms).max(old_end_ms);
        self.put_active(id, visit, session_end_ms);
        let event = Event::Extended {
            visit,
            session_end_ms,
        };
        ExtendOutcome::Active {
            status: EntryStatus::Active {
                visit,
                session_end_ms,
                now_ms,
            },
            change: self.new_change(now_us, id, event),
        }
    }
}

/// How a consumed visit ends; `status` is what it was before.
fn build_end_reason(status: &EntryStatus, use_id: Option<UseId>) -> EndReason {
    match (status, use_id) {
        (EntryStatus::Active { session_end_ms, .. }, Some(use_id)) => EndReason::Consumed(Consumption {
            use_id,
            session_end_ms: *session_end_ms,
        }),
        _ => EndReason::Completed,
    }
}
