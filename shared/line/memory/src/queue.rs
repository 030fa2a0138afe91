//! One queue in memory: its state, its configuration and its snapshots.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use vestibule_domain::{
    change::{Change, Event, Version},
    clock::LineTime,
    configuration::Configuration,
    estimate::MovingAverages,
    fact::Step,
    id::EntryId,
    lane::{LaneProgress, WINDOW_ENTRIES_MIN},
    lane_turns::LaneTurns,
    load::{LastLoadReport, LoadReport},
    pace::{LimitedBy, Pace, PaceBucket},
    score::Visit,
    settings::Settings,
};
use vestibule_line::{ChangeMark, QueueTotals, QueueView, RaiseWatermarkOutcome};

use super::{
    check_progress::CheckProgress, deadline_set::DeadlineSet, ended_entries::EndedEntries,
    held_slots::HeldSlots, journal::Journal, pending_report::PendingReport, presence::Presence,
    tally_counter::TallyCounter, waiting::WaitingEntries,
};

/// The state of one queue.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) configuration: Configuration,
    /// The names of the switches that the backup may not have.
    pub(super) unsaved_switches: BTreeSet<&'static str>,
    /// Rises with each switch that came into force before the backup had it.
    pub(super) switch_serial: u64,
    pub(super) waiting: WaitingEntries,
    /// The deadlines are on the claim clock, which stands still while the queue is paused and while
    /// the front door is down.
    pub(super) ready: DeadlineSet,
    /// The deadlines are the ends of the sessions.
    pub(super) active: DeadlineSet,
    /// The slots of visitors who left or were evicted while a pass can still be shown, with their visits.
    pub(super) held: HeldSlots,
    /// The visit and the step of each entry that is ready, active or waiting again. The place of a
    /// plain waiting entry is its visit, and `held` has the visits of held entries. Redis has both in
    /// its hash `visits`.
    pub(super) visits: HashMap<EntryId, (Visit, Step)>,
    /// The active entries that are only known to be admitted by the fast track: their visitors
    /// neither claimed nor extended the session, so the backup may lack these visits.
    pub(super) fast_tracked: HashSet<EntryId>,
    pub(super) ended: EndedEntries,
    pub(super) journal: Journal,
    /// Whether the last tick found the journal without room for newcomers.
    pub(super) is_journal_full: bool,
    pub(super) last_order: u64,
    pub(super) v: u64,
    pub(super) bucket: PaceBucket,
    /// The pace at which the bucket refills since it was last stored.
    pub(super) bucket_pace: Pace,
    pub(super) averages: MovingAverages,
    pub(super) promoted_through: u64,
    /// How far the lanes have moved that had an entry since the queue was created or restored.
    pub(super) lanes: BTreeMap<u8, LaneProgress>,
    /// Whether an entry had another lane than the default one since the queue was created or restored.
    pub(super) has_lanes: bool,
    /// How the lanes share the promotions.
    pub(super) lane_turns: LaneTurns,
    /// Which visitors are present; `None` while presence is switched off.
    pub(super) presence: Option<Presence>,
    /// The line times at which visitors closed the page, of entries that waited then.
    pub(super) closing: DeadlineSet,
    /// How many entries were absent after the last tick. Entering goes by it.
    pub(super) absent_at_tick: u64,
    /// How many more visitors are called by entering, so check in by it.
    pub(super) newcomers_called: u64,
    pub(super) heartbeat_ms: u64,
    /// When a request last took a fallback tick, in Unix milliseconds; 0 if no request did.
    pub(super) fallback_ticked_at_ms: u64,
    /// When the current pause began, in Unix milliseconds; 0 if the queue is not paused.
    pub(super) paused_at_ms: u64,
    /// When the last tick found that the queue stood still, in Unix milliseconds; when it was created or restored if none
    /// did. No wait counts as longer than since then.
    pub(super) moving_since_ms: u64,
    /// Until when passes may be valid that were issued before passes became shorter, in Unix
    /// milliseconds.
    pub(super) passes_until_ms: u64,
    /// The total length of all earlier pauses and outages of the front door, in milliseconds.
    pub(super) paused_ms: u64,
    /// The previous time to claim, in milliseconds. It stays in force until `claim_floor_until_ms`,
    /// so a lowered `claim_seconds` takes effect after the previous time has passed.
    pub(super) claim_floor_ms: u64,
    pub(super) claim_floor_until_ms: u64,
    pub(super) totals: QueueTotals,
    /// The offset that is added to the server's clock, in milliseconds.
    pub(super) offset_ms: i64,
    /// The offset that the last caller whose clock was apart from the server's would have set, in
    /// milliseconds.
    pub(super) proposed_offset_ms: Option<i64>,
    pub(super) load: Option<LastLoadReport>,
    pub(super) unreported: PendingReport,
    pub(super) tally: TallyCounter,
    pub(super) check_progress: CheckProgress,
    /// The watermark. `fence_v` is the version at which it was last raised.
    pub(super) watermark: u64,
    pub(super) watermark_v: u64,
    /// How many calls of `promote` there were, and the line time of the last one in Unix milliseconds.
    pub(super) ticks: u64,
    pub(super) ticked_at_ms: u64,
    /// Why the last tick promoted no entry although some wait.
    pub(super) standstill: Option<LimitedBy>,
}

impl Queue {
    pub(super) fn new(now_us: u64, configuration: Configuration) -> Self {
        let now_ms = now_us / 1_000;
        Self {
            unsaved_switches: BTreeSet::new(),
            switch_serial: 0,
            waiting: WaitingEntries::default(),
            ready: DeadlineSet::default(),
            active: DeadlineSet::default(),
            held: HeldSlots::default(),
            visits: HashMap::new(),
            fast_tracked: HashSet::new(),
            ended: EndedEntries::default(),
            journal: Journal::default(),
            is_journal_full: false,
            last_order: 0,
            v: now_us,
            bucket: PaceBucket::full(configuration.settings.pace(), now_ms),
            bucket_pace: configuration.settings.pace(),
            averages: MovingAverages::default(),
            promoted_through: 0,
            lanes: BTreeMap::new(),
            has_lanes: false,
            lane_turns: LaneTurns::default(),
            presence: configuration
                .settings
                .has_presence()
                .then(|| Presence::new(now_ms)),
            closing: DeadlineSet::default(),
            absent_at_tick: 0,
            newcomers_called: if configuration.settings.has_presence() {
                WINDOW_ENTRIES_MIN
            } else {
                0
            },
            heartbeat_ms: 0,
            fallback_ticked_at_ms: 0,
            paused_at_ms: if configuration.settings.paused { now_ms } else { 0 },
            paused_ms: 0,
            moving_since_ms: now_ms,
            passes_until_ms: 0,
            claim_floor_ms: 0,
            claim_floor_until_ms: 0,
            totals: QueueTotals::default(),
            offset_ms: 0,
            proposed_offset_ms: None,
            load: None,
            unreported: PendingReport::default(),
            tally: TallyCounter::default(),
            check_progress: CheckProgress::new(now_ms),
            watermark: 0,
            watermark_v: 0,
            standstill: None,
            ticks: 0,
            ticked_at_ms: 0,
            configuration,
        }
    }

    /// Raises the watermark, which shows whether a line restarted with stale data.
    pub(super) fn raise_watermark(&mut self, epoch: u32, fence: u64) -> RaiseWatermarkOutcome {
        if self.configuration.epoch != epoch {
            return RaiseWatermarkOutcome::OtherEpoch;
        }
        if self.watermark < fence {
            return RaiseWatermarkOutcome::StaleLine;
        }
        if self.watermark_v == self.v {
            return RaiseWatermarkOutcome::Unchanged;
        }
        self.watermark += 1;
        self.watermark_v = self.v;
        RaiseWatermarkOutcome::Raised(self.watermark)
    }

    /// The mark of the last change.
    pub(super) fn change_mark(&self) -> ChangeMark {
        ChangeMark {
            version: Version {
                epoch: self.configuration.epoch,
                v: self.v,
            },
            watermark: self.watermark,
        }
    }

    pub(super) fn queue_view(&self, time: LineTime) -> QueueView {
        QueueView {
            configuration: self.configuration.clone(),
            now_ms: time.ms(),
            waiting: self.waiting.len(),
            ready: self.ready.len(),
            called: self.called(),
            present: self.present(),
            absent: self.absent(),
            active: self.active.len(),
            held: self.held.len(),
            unsettled_ends: self.ended.unsettled_count(),
            journal_len: self.journal.len(),
            dead_letters: self.journal.dead_letters.len() as u64,
            promoted_through: self.promoted_through,
            standstill: self.standstill,
            lanes: self.lanes(),
            waiting_by_lane: self.waiting_by_lane(),
            heartbeat_ms: self.heartbeat_ms,
            fallback_ticked_at_ms: self.fallback_ticked_at_ms,
            bucket: self.bucket,
            bucket_pace: self.bucket_pace,
            averages: self.averages,
            version: Version {
                epoch: self.configuration.epoch,
                v: self.v,
            },
            totals: self.totals,
            last_tick: self.last_tick(),
            imbalance: self.imbalance(),
            check_due_ms: self.check_progress.due_ms,
            clocks: time.clocks,
            session_ends_in_ms: self.session_ends_in_ms(time.ms()),
            load: self.load,
        }
    }

    fn session_ends_in_ms(&self, now_ms: u64) -> Vec<u64> {
        let ends = self.active.deadlines_at_twentieths().into_iter();
        ends.map(|end_ms| end_ms.saturating_sub(now_ms)).collect()
    }

    pub(super) fn record_load(&mut self, now_us: u64, report: LoadReport) {
        self.load = Some(LastLoadReport {
            report,
            at_ms: self.now_ms(now_us),
        });
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.configuration.settings
    }

    /// Takes the next version and returns a change of one entry.
    pub(super) fn new_change(&mut self, now_us: u64, id: EntryId, event: Event) -> Change {
        let at_ms = self.now_ms(now_us);
        Change {
            id,
            version: self.take_next_version(now_us),
            at_ms,
            event,
            source: None,
        }
    }

    pub(super) fn take_next_version(&mut self, now_us: u64) -> Version {
        self.v = (self.v + 1).max(now_us);
        Version {
            epoch: self.configuration.epoch,
            v: self.v,
        }
    }
}
