//! The later life of an entry of one queue in memory: claim, validation, extension and end.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::EntryStatus,
    id::EntryId,
    score::{DeadlineScore, Visit},
    state::EntryState,
};
use vestibule_line::{
    ClaimOutcome, ExtendOutcome, LeaveOutcome, LeaveReason, SessionExtension, ValidateOutcome, Validation,
};

use super::queue::Queue;

impl Queue {
    pub(super) fn activate(&mut self, now_ms: u64, id: EntryId, visit: Visit) -> EntryStatus {
        let session_end_ms = now_ms + self.settings().session_ms();
        self.active.insert(DeadlineScore::new(session_end_ms, visit), id);
        EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms,
        }
    }

    /// Makes a ready entry active.
    fn claim_ready(&mut self, now_us: u64, id: EntryId, visit: Visit) -> (EntryStatus, Change) {
        self.ready.remove(id);
        self.totals.claimed += 1;
        let now_ms = self.now_ms(now_us);
        let session_end_ms = now_ms + self.settings().session_ms();
        let status = self.activate(now_ms, id, visit);
        (
            status,
            self.new_change(
                now_us,
                id,
                Event::Claimed {
                    visit,
                    session_end_ms,
                },
            ),
        )
    }

    pub(super) fn claim(&mut self, now_us: u64, id: EntryId) -> ClaimOutcome {
        match self.entry_status(self.now_ms(now_us), id) {
            Some(EntryStatus::Ready { visit, .. }) => {
                let (status, change) = self.claim_ready(now_us, id, visit);
                ClaimOutcome::Active { status, change }
            }
            Some(
                status @ EntryStatus::Active {
                    visit,
                    session_end_ms,
                    ..
                },
            ) => {
                let change = self.new_change(
                    now_us,
                    id,
                    Event::Claimed {
                        visit,
                        session_end_ms,
                    },
                );
                ClaimOutcome::Active { status, change }
            }
            Some(status) => ClaimOutcome::StillWaiting(status),
            None => ClaimOutcome::NotFound(self.explain_not_found(id)),
        }
    }

    pub(super) fn leave(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Option<Visit>,
        reason: LeaveReason,
    ) -> LeaveOutcome {
        let Some(status) = self.entry_status(self.now_ms(now_us), id) else {
            return LeaveOutcome::NotFound(self.explain_not_found(id));
        };
        if visit.is_some_and(|visit| visit != status.visit()) {
            return LeaveOutcome::OtherVisit;
        }
        let reason = match (reason, status.state()) {
            (LeaveReason::Leave | LeaveReason::Complete, EntryState::Active) => EndReason::Completed,
            (LeaveReason::Complete, _) => return LeaveOutcome::NotActive(status),
            (LeaveReason::Leave | LeaveReason::Evict, _) => EndReason::Left,
        };
        LeaveOutcome::Ended(self.end_visit(now_us, id, status.visit(), reason))
    }

    fn end_visit(&mut self, now_us: u64, id: EntryId, visit: Visit, reason: EndReason) -> Change {
        self.waiting.remove(id);
        self.ready.remove(id);
        self.active.remove(id);
        match reason {
            EndReason::Completed => self.totals.completed += 1,
            EndReason::Left => self.totals.left += 1,
            EndReason::NoShow | EndReason::Expired => {
                unreachable!("only `promote` drops an entry past its deadline")
            }
        }
        let change = self.new_change(now_us, id, Event::Ended { visit, how: reason });
        self.ended.insert(id, change);
        change
    }

    pub(super) fn validate(&mut self, now_us: u64, id: EntryId, validation: Validation) -> ValidateOutcome {
        let Some(mut status) = self.entry_status(self.now_ms(now_us), id) else {
            return ValidateOutcome::NotFound(self.explain_not_found(id));
        };
        let visit = status.visit();
        if validation.visit.is_some_and(|named| named != visit) {
            return ValidateOutcome::OtherVisit;
        }
        let mut change = None;
        match status {
            EntryStatus::Active { .. } => {}
            EntryStatus::Ready { .. } if validation.claims => {
                let (new_status, claimed) = self.claim_ready(now_us, id, visit);
                (status, change) = (new_status, Some(claimed));
            }
            _ => match validation
                .reactivate_until_ms
                .filter(|end_ms| *end_ms > self.now_ms(now_us))
            {
                Some(end_ms) => {
                    let (new_status, claimed) = self.reactivate(now_us, id, visit, end_ms);
                    (status, change) = (new_status, Some(claimed));
                }
                None => return ValidateOutcome::NotActive(status),
            },
        }
        if validation.consumes {
            change = Some(self.end_visit(now_us, id, visit, EndReason::Completed));
        }
        ValidateOutcome::Active { status, change }
    }

    /// Makes an entry active until its pass ends. The entry was active before the line lost that
    /// fact, and the pass proves it.
    fn reactivate(
        &mut self,
        now_us: u64,
        id: EntryId,
        visit: Visit,
        session_end_ms: u64,
    ) -> (EntryStatus, Change) {
        self.waiting.remove(id);
        self.ready.remove(id);
        self.totals.claimed += 1;
        self.active.insert(DeadlineScore::new(session_end_ms, visit), id);
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        let status = EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms: self.now_ms(now_us),
        };
        (status, self.new_change(now_us, id, event))
    }

    pub(super) fn extend(&mut self, now_us: u64, id: EntryId, extension: SessionExtension) -> ExtendOutcome {
        let Some(status) = self.entry_status(self.now_ms(now_us), id) else {
            return ExtendOutcome::NotFound(self.explain_not_found(id));
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
        self.active.insert(DeadlineScore::new(session_end_ms, visit), id);
        let change = self.new_change(
            now_us,
            id,
            Event::Extended {
                visit,
                session_end_ms,
            },
        );
        ExtendOutcome::Active {
            status: EntryStatus::Active {
                visit,
                session_end_ms,
                now_ms,
            },
            change,
        }
    }
}
