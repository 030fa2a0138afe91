//! The complete contents of a queue in memory, for the test that compares them with those in Redis.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::{Change, Event},
    estimate::CountWindow,
    id::{EntryId, QueueId},
    pace::LimitedBy,
};
use vestibule_line::LineError;

use super::{
    lane_dump::{format_lane, format_lane_turns},
    memory_line::MemoryLine,
    presence::Presence,
    queue::Queue,
};

/// The state of a queue under its Redis field names, without its configuration and its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDump {
    /// The waiting entries with their raw scores, in order.
    pub waiting: Vec<(EntryId, u64)>,
    /// The ready entries with their deadlines by the claim clock, in order. Entries with equal
    /// deadlines are ordered by id.
    pub ready: Vec<(EntryId, u64)>,
    /// The active entries with the ends of their sessions, in order. Entries with equal ends are
    /// ordered by id.
    pub active: Vec<(EntryId, u64)>,
    /// The entries whose slots are held, with the times at which these become free, in order.
    pub held: Vec<(EntryId, u64)>,
    /// The visits and steps of entries that are ready, active, held or waiting again, by id. `fast` follows
    /// if the entry is only known to be admitted by the fast track, and the way of ending if it is held.
    pub visits: Vec<(EntryId, String)>,
    /// The ends by id: epoch, version, visit, step, time of the step, way of ending and time.
    pub ended: Vec<(EntryId, String)>,
    /// The settled ends with the times at which the backup had them, in order. Entries with equal
    /// times are ordered by id.
    pub settled: Vec<(EntryId, u64)>,
    /// The present entries with their places, in order.
    pub present: Vec<(EntryId, u64)>,
    /// The last check-ins of the called entries by the presence clock in half milliseconds, in order; negative for
    /// those that are not present, and odd for those whose visitors have only entered. Entries with equal numbers are ordered by id.
    pub seen: Vec<(EntryId, i64)>,
    /// The entries whose visitors closed the page, with the line times of that, in order.
    pub closing: Vec<(EntryId, u64)>,
    /// What Redis stores about presence under its field names: the clock, the calls and the marks.
    pub presence: BTreeMap<String, String>,
    /// How far each lane has moved, as Redis stores it.
    pub lanes: Vec<(u8, String)>,
    /// How the lanes share the promotions, as Redis stores it; empty while there is only the default lane.
    pub lane_turns: String,
    /// Whether an entry had another lane than the default one.
    pub has_lanes: bool,
    /// Why the last tick promoted no entry although some wait; empty if there is no such reason.
    pub standstill: String,
    /// All numbers of the state.
    pub state: BTreeMap<String, i64>,
}

impl MemoryLine {
    /// Returns the contents of a queue.
    ///
    /// # Errors
    /// [`LineError::QueueNotFound`] if the line does not have the queue.
    pub fn dump_queue(&self, queue: &QueueId) -> Result<QueueDump, LineError> {
        self.with_queue(queue, |queue, _| queue.dump())
    }
}

impl Queue {
    fn dump(&self) -> QueueDump {
        let mut ended: Vec<_> = self.ended.iter().map(|end| (end.id, format_end(end))).collect();
        ended.sort_unstable();
        let visits = self.visits.iter();
        let mut visits: Vec<_> = visits
            .map(|(id, (visit, step))| {
                let how = if self.fast_tracked.contains(id) {
                    " fast".to_owned()
                } else {
                    self.format_lane_move(*id)
                };
                (*id, format!("{} {}{how}", visit.number(), step.number()))
            })
            .collect();
        let named = self.waiting.iter().filter(|(place, id)| {
            let is_told_by_place = place.is_after_opening() && self.waiting.moved_at_ms(*id) == 0;
            !is_told_by_place && !self.visits.contains_key(id)
        });
        visits.extend(named.map(|(place, id)| {
            let moved = self.format_lane_move(id);
            (id, format!("{} 0{moved}", place.visit().number()))
        }));
        visits.extend(self.held.iter().filter_map(|(_, id)| {
            let (fact, how) = self.held.find(id)?;
            let text = format!("{} {} {}", fact.visit.number(), fact.step.number(), how.name());
            Some((id, text))
        }));
        visits.sort_unstable();
        let by_id = |(ms, id): (u64, EntryId)| (id, ms);
        QueueDump {
            waiting: self.waiting.iter().map(|(score, id)| (id, score.raw())).collect(),
            ready: self.ready.iter().map(by_id).collect(),
            active: self.active.iter().map(by_id).collect(),
            held: self.held.iter().map(by_id).collect(),
            visits,
            ended,
            settled: self.ended.settled().map(by_id).collect(),
            present: self.presence.iter().flat_map(Presence::dump_present).collect(),
            seen: self
                .presence
                .as_ref()
                .map(Presence::dump_seen)
                .unwrap_or_default(),
            closing: self.closing.iter().map(by_id).collect(),
            presence: self
                .presence
                .as_ref()
                .map(Presence::redis_fields)
                .unwrap_or_default(),
            lanes: self
                .lanes
                .iter()
                .map(|(lane, progress)| (*lane, format_lane(*progress)))
                .collect(),
            lane_turns: format_lane_turns(&self.lane_turns),
            has_lanes: self.has_lanes,
            standstill: self.standstill.map_or("", LimitedBy::name).to_owned(),
            state: self.redis_fields(),
        }
    }

    /// What follows the step in `visits`, if an operator moved the waiting entry to another lane.
    fn format_lane_move(&self, id: EntryId) -> String {
        match self.waiting.moved_at_ms(id) {
            0 => String::new(),
            moved_at_ms => format!(" {moved_at_ms}"),
        }
    }

    fn redis_fields(&self) -> BTreeMap<String, i64> {
        let numbers = [
            ("v", self.v),
            ("last_order", self.last_order),
            ("credit", self.bucket.credit),
            ("credit_at_ms", self.bucket.at_ms),
            ("credit_batch", self.bucket_pace.batch),
            ("paused_at_ms", self.paused_at_ms),
            ("paused_ms", self.paused_ms),
            ("moving_since_ms", self.moving_since_ms),
            ("passes_until_ms", self.passes_until_ms),
            ("claim_floor_ms", self.claim_floor_ms),
            ("claim_floor_until_ms", self.claim_floor_until_ms),
            ("counted_at_ms", self.averages.last_tick_at_ms),
            ("taken_seconds", self.averages.taken_seconds),
            ("waiting_seconds", self.averages.waiting_seconds),
            ("paced", self.averages.paced),
            ("paced_seconds", self.averages.paced_seconds),
            ("rate_since_ms", self.averages.rate_since_ms),
            ("promoted_through", self.promoted_through),
            ("heartbeat_ms", self.heartbeat_ms),
            ("fallback_tick_at_ms", self.fallback_ticked_at_ms),
            ("entered", self.totals.entered),
            ("fast_tracked", self.totals.fast_tracked),
            ("bypassed", self.totals.bypassed),
            ("promoted", self.totals.promoted),
            ("claimed", self.totals.claimed),
            ("completed", self.totals.completed),
            ("left", self.totals.left),
            ("evicted", self.totals.evicted),
            ("expired", self.totals.expired),
            ("no_shows", self.totals.no_shows),
            ("absences", self.totals.absences),
            ("overlong_waits", self.totals.overlong_waits),
            ("dismissed", self.totals.dismissed),
            ("absent", self.absent_at_tick),
            ("returned", self.totals.returned),
            ("fence", self.watermark),
            ("fence_v", self.watermark_v),
            ("ticks", self.ticks),
            ("ticked_at_ms", self.ticked_at_ms),
        ]
        .into_iter()
        .chain(self.unreported.redis_fields())
        .chain(self.check_progress.redis_fields())
        .map(|(name, number)| (name, i64::try_from(number).expect("the number is below 2^53")));
        let windows = [("short", self.averages.short), ("long", self.averages.long)];
        let testified = self.proposed_offset_ms.map(|ms| ("testified_ms", ms));
        let cutoff = self
            .presence
            .as_ref()
            .and_then(|presence| presence.absence_cutoff_ms);
        let cutoff = cutoff.map(|ms| ("absence_cutoff_ms", ms.cast_signed()));
        numbers
            .chain([("offset_ms", self.offset_ms)])
            .chain([("checked_imbalance", self.check_progress.checked_imbalance)])
            .chain(testified)
            .chain(cutoff)
            .map(|(name, number)| (name.to_owned(), number))
            .chain(
                windows
                    .into_iter()
                    .flat_map(|(name, window)| window_fields(name, window)),
            )
            .collect()
    }
}

impl Presence {
    fn dump_present(&self) -> impl Iterator<Item = (EntryId, u64)> {
        self.present.iter().map(|(place, id)| (*id, place.raw()))
    }

    fn dump_seen(&self) -> Vec<(EntryId, i64)> {
        let halves = |id, ms: u64| {
            let missing = u64::from(self.entered_only.contains(&id));
            (2 * ms - missing).cast_signed()
        };
        let present = self.seen.iter().map(|(ms, id)| (id, halves(id, ms)));
        let absent = self.last_seen_ms.iter().map(|(id, ms)| (*id, -halves(*id, *ms)));
        let mut seen: Vec<_> = present.chain(absent).collect();
        seen.sort_by_key(|(id, ms)| (*ms, *id));
        seen
    }

    fn redis_fields(&self) -> BTreeMap<String, String> {
        let clock = self.clock;
        let text = format!(
            "{} {} {} {} {} {} {}",
            clock.ms,
            clock.at_ms,
            clock.check_ins,
            clock.checked_in_at_ms,
            clock.period_at_ms,
            clock.period_check_ins,
            u8::from(clock.is_busy)
        );
        let mut fields = BTreeMap::from([("presence".to_owned(), text)]);
        if self.check_ins > 0 {
            fields.insert("check_ins".to_owned(), self.check_ins.to_string());
        }
        for (lane, calls) in &self.calls {
            let numbers = [
                calls.growth,
                calls.judged_at_ms,
                calls.judged_through,
                calls.looked_through,
            ];
            let numbers = numbers.map(|number| number.to_string()).join(" ");
            fields.insert(format!("calls_{lane}"), numbers);
            fields.insert(format!("called_{lane}"), calls.called.to_string());
            fields.insert(format!("passed_{lane}"), calls.passed.to_string());
        }
        fields
    }
}

/// The numbers of an averaging window. A mark that has not been set has none.
fn window_fields(name: &str, window: CountWindow) -> Vec<(String, i64)> {
    let signed = |number: u64| i64::try_from(number).expect("the number is below 2^53");
    let marks = [
        (name.to_owned(), window.current_start),
        (format!("{name}_before"), window.previous_start),
    ];
    let begun = marks.into_iter().filter(|(_, counted)| counted.at_ms > 0);
    begun
        .flat_map(|(mark, counted)| {
            [
                ("at_ms", signed(counted.at_ms)),
                ("served", signed(counted.served)),
                ("gone", counted.freed),
                ("expired", signed(counted.expired)),
                ("no_shows", signed(counted.no_shows)),
                ("left", counted.left),
                ("passed_over", counted.passed_over),
                ("taken_seconds", signed(counted.taken_seconds)),
                ("waiting_seconds", signed(counted.waiting_seconds)),
                ("paced", signed(counted.paced)),
                ("paced_seconds", signed(counted.paced_seconds)),
            ]
            .map(|(of, number)| (format!("{mark}_{of}"), number))
        })
        .collect()
}

fn format_end(end: &Change) -> String {
    let how = match end.event {
        Event::Ended { how, .. } => how.name(),
        event => event.state().name().into(),
    };
    let (version, fact) = (end.version, end.fact());
    format!(
        "{} {} {} {} {} {how} {}",
        version.epoch,
        version.v,
        fact.visit.number(),
        fact.step.number(),
        fact.step_ms,
        end.at_ms
    )
}
