//! The promotion of one queue in memory.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    clock::LineTime,
    estimate::TickCounts,
    id::EntryId,
    pace::{LimitedBy, PromotionBounds},
    score::{DeadlineScore, WaitScore},
};
use vestibule_line::{PROMOTE_CHUNK, PromoteOrder, Promotion, Tick};

use super::queue::Queue;

impl Queue {
    /// Runs one promotion. The second value is the message for the subscribers, if at least one
    /// entry was promoted.
    pub(super) fn promote(
        &mut self,
        time: LineTime,
        order: PromoteOrder,
        journal_max: u64,
    ) -> (Promotion, Option<Tick>) {
        let now_ms = time.ms();
        let clock_ms = self.claim_clock_ms(now_ms);
        let mut events = Vec::new();
        // Nothing is dropped or promoted while line time is uncertain, or while the journal has no
        // room for the changes.
        let is_full = self.journal.is_full(journal_max);
        let drop_max = if time.clocks.apart || is_full {
            0
        } else {
            PROMOTE_CHUNK
        };
        let no_shows = drop_expired(&mut events, EndReason::NoShow, drop_max, || {
            self.ready.pop_due(clock_ms)
        });
        let expired = drop_expired(
            &mut events,
            EndReason::Expired,
            drop_max.saturating_sub(no_shows),
            || self.active.pop_due(now_ms),
        );
        let dropped = events.len();
        self.totals.no_shows += no_shows;
        self.totals.expired += expired;

        let pace = self.settings().pace();
        let bucket = self.bucket.refill(pace, now_ms);
        let room = PromotionBounds {
            waiting: self.waiting.len(),
            capacity: u64::from(self.settings().capacity),
            taken: self.ready.len() + self.active.len(),
            tokens: bucket.tokens(pace),
            asked: order.max_entries.min(PROMOTE_CHUNK - no_shows - expired),
        };
        let (promoted, limited_by) = if time.clocks.apart {
            (0, LimitedBy::Clock)
        } else if is_full {
            (0, LimitedBy::Journal)
        } else if self.settings().can_promote() {
            room.compute_allowance()
        } else {
            (0, LimitedBy::Switch)
        };
        if !time.clocks.apart {
            self.proposed_offset_ms = None;
        }
        let highest = self.promote_entries(now_ms, clock_ms, promoted, &mut events);
        if promoted > 0 {
            self.bucket = bucket.spend(pace, promoted);
            self.totals.promoted += promoted;
        }
        self.averages = self.averages.record_tick(TickCounts {
            now_ms,
            waiting_before: room.waiting,
            taken_before: room.taken,
            waiting: self.waiting.len(),
            taken: self.ready.len() + self.active.len(),
            entered: self.totals.entered,
            served: self.totals.fast_tracked + self.totals.promoted,
            expired: self.totals.expired,
            no_shows: self.totals.no_shows,
            can_promote: self.settings().can_promote() && !is_full && !time.clocks.apart,
        });
        if order.is_promoter {
            if self.heartbeat_ms > 0 {
                self.unreported
                    .record_tick_gap(now_ms.saturating_sub(self.heartbeat_ms));
            }
            self.heartbeat_ms = now_ms;
        }
        let mut tick = None;
        if !events.is_empty() {
            let version = self.take_next_version(time.us);
            tick = highest.map(|through| Tick {
                through,
                version,
                at_ms: now_ms,
                claim_by_ms: now_ms + self.claim_ms(now_ms),
            });
            let change = |(id, event): (EntryId, Event)| Change {
                id,
                version,
                at_ms: now_ms,
                event,
            };
            let changes: Vec<_> = events.into_iter().map(change).collect();
            self.ended
                .extend(changes[..dropped].iter().map(|change| (change.id, *change)));
            self.append_to_journal(changes);
        }
        let promotion = Promotion {
            promoted,
            no_shows,
            expired,
            limited_by,
            has_more: promoted + no_shows + expired == PROMOTE_CHUNK,
            waiting: self.waiting.len(),
            ready: self.ready.len(),
            active: self.active.len(),
            promoted_through: self.promoted_through,
            now_ms,
            clocks: time.clocks,
        };
        (promotion, tick)
    }

    /// Moves up to `promoted` entries from waiting to ready. Returns the highest place that it moved.
    fn promote_entries(
        &mut self,
        now_ms: u64,
        clock_ms: u64,
        promoted: u64,
        events: &mut Vec<(EntryId, Event)>,
    ) -> Option<WaitScore> {
        let claim_ms = self.claim_ms(now_ms);
        let mut highest = None;
        for _ in 0..promoted {
            let Some((score, id)) = self.waiting.pop_first() else {
                break;
            };
            self.ready
                .insert(DeadlineScore::new(clock_ms + claim_ms, score.visit()), id);
            self.promoted_through = self.promoted_through.max(score.raw());
            highest = Some(score);
            // If more than 256 entries joined in one millisecond, a join time may lie ahead of the
            // clock.
            self.unreported
                .record_wait(now_ms.saturating_sub(score.joined_at_ms()));
            events.push((
                id,
                Event::Promoted {
                    score,
                    claim_by_ms: now_ms + claim_ms,
                },
            ));
        }
        highest
    }
}

/// Drops at most `drop_max` entries whose deadline has passed. Returns the number of dropped entries.
fn drop_expired(
    events: &mut Vec<(EntryId, Event)>,
    how: EndReason,
    drop_max: u64,
    mut pop: impl FnMut() -> Option<(DeadlineScore, EntryId)>,
) -> u64 {
    let mut dropped = 0;
    while dropped < drop_max {
        let Some((score, id)) = pop() else { break };
        events.push((
            id,
            Event::Ended {
                visit: score.visit(),
                how,
            },
        ));
        dropped += 1;
    }
    dropped
}
