//! The changes of settings.

use proptest::{prelude::*, strategy::Union};
use vestibule_domain::{
    configuration::Configuration,
    id::QueueId,
    settings::{BeforeOpening, Entrance, LoadMeasure, Mode, Passes, ReEntry, Settings},
};
use vestibule_line::{Line, LineError, SwitchOrder};
use vestibule_tests::lines::configuration;

/// A change of settings.
#[derive(Debug, Clone)]
pub(crate) enum Setting {
    Capacity(u32),
    Batch(u32),
    IntervalSeconds(u32),
    FastTrack(bool),
    Mode(Mode),
    /// The fewest and the most entries per interval, and the loads at which they are promoted; `None` for a fixed pace.
    Adaptive(Option<([u32; 2], [u32; 2])>),
    LoadMeasure(LoadMeasure),
    LoadTtlSeconds(u32),
    ClaimSeconds(u32),
    SessionSeconds(u32),
    PassSeconds(u32),
    Passes(Passes),
    ReEntry(ReEntry),
    Entrance(Entrance),
    /// In so many seconds; `None` for never.
    OpensIn(Option<u64>),
    BeforeOpening(BeforeOpening),
    ClosesIn(Option<u64>),
    EndsIn(Option<u64>),
    Paused(bool),
    PresenceSeconds(u32),
    CallSeconds(u32),
    AbsentSeconds(u32),
    QueueLimit(u32),
    AbsentLimit(u32),
    WaitingSecondsMax(u32),
    LeaveOnClose(bool),
    LaneShare(u32),
}

impl Setting {
    /// Changes the settings at `now_ms`, in Unix milliseconds.
    pub(crate) fn apply(&self, settings: &mut Settings, now_ms: u64) {
        let moment = |seconds: &Option<u64>| seconds.map(|seconds| now_ms + seconds * 1_000);
        match self {
            Self::Capacity(capacity) => settings.capacity = *capacity,
            Self::Batch(batch) => settings.batch = *batch,
            Self::IntervalSeconds(seconds) => settings.interval_seconds = *seconds,
            Self::FastTrack(fast_track) => settings.fast_track = *fast_track,
            Self::Mode(mode) => settings.mode = *mode,
            Self::Adaptive(bounds) => {
                settings.adaptive = bounds.is_some();
                if let Some(([batch_min, batch_max], [load_low, load_high])) = *bounds {
                    (settings.batch_min, settings.batch_max) = (batch_min, batch_max);
                    (settings.load_low, settings.load_high) = (load_low, load_high);
                }
            }
            Self::LoadMeasure(measure) => settings.load_measure = *measure,
            Self::LoadTtlSeconds(seconds) => settings.load_ttl_seconds = *seconds,
            Self::ClaimSeconds(seconds) => settings.claim_seconds = *seconds,
            Self::SessionSeconds(seconds) => settings.session_seconds = *seconds,
            Self::PassSeconds(seconds) => settings.pass_seconds = *seconds,
            Self::Passes(passes) => settings.passes = *passes,
            Self::ReEntry(re_entry) => settings.re_entry = *re_entry,
            Self::Entrance(entrance) => settings.entrance = *entrance,
            Self::OpensIn(seconds) => {
                settings.opens_at_ms = moment(seconds);
                let is_after = |at_ms: &u64| Some(*at_ms) > moment(seconds);
                settings.closes_at_ms = settings.closes_at_ms.filter(is_after);
                settings.ends_at_ms = settings.ends_at_ms.filter(is_after);
            }
            Self::BeforeOpening(order) => {
                (settings.before_opening, settings.draw_anyone) = (*order, true);
            }
            Self::ClosesIn(seconds) => {
                settings.closes_at_ms = moment(seconds);
                settings.ends_at_ms = settings.ends_at_ms.filter(|end| *end >= now_ms + 60_000);
            }
            Self::EndsIn(seconds) => {
                settings.ends_at_ms = moment(seconds);
                settings.closes_at_ms = settings
                    .closes_at_ms
                    .filter(|close| Some(*close) <= moment(seconds));
            }
            Self::Paused(paused) => settings.paused = *paused,
            Self::PresenceSeconds(seconds) => settings.presence_seconds = *seconds,
            Self::CallSeconds(seconds) => settings.call_seconds = *seconds,
            Self::AbsentSeconds(seconds) => settings.absent_seconds = *seconds,
            Self::QueueLimit(entries) => settings.queue_limit = *entries,
            Self::AbsentLimit(entries) => settings.absent_limit = *entries,
            Self::WaitingSecondsMax(seconds) => settings.waiting_seconds_max = *seconds,
            Self::LeaveOnClose(leaves) => settings.leave_on_close = *leaves,
            Self::LaneShare(percent) => settings.lane_share = *percent,
        }
        if matches!(self, Self::ClosesIn(Some(_)) | Self::EndsIn(Some(_))) {
            let first_end_ms = settings.closes_at_ms.or(settings.ends_at_ms);
            settings.opens_at_ms = settings.opens_at_ms.filter(|at_ms| Some(*at_ms) < first_end_ms);
        }
    }
}

pub(crate) fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        1 => (1_u32..7).prop_map(Setting::Capacity),
        1 => (1_u32..7).prop_map(Setting::Batch),
        1 => (1_u32..30).prop_map(Setting::IntervalSeconds),
        1 => prop_oneof![2 => Just(true), 1 => Just(false)].prop_map(Setting::FastTrack),
        1 => Union::new([Mode::Queue, Mode::Queue, Mode::Passthrough].map(Just)).prop_map(Setting::Mode),
        2 => adaptive_bounds().prop_map(Setting::Adaptive),
        1 => Union::new([LoadMeasure::Tps, LoadMeasure::LatencyMs].map(Just)).prop_map(Setting::LoadMeasure),
        1 => (1_u32..60).prop_map(Setting::LoadTtlSeconds),
        1 => (10_u32..60).prop_map(Setting::ClaimSeconds),
        1 => (1_u32..120).prop_map(Setting::SessionSeconds),
        1 => prop_oneof![1 => Just(0), 1 => 5_u32..60].prop_map(Setting::PassSeconds),
        1 => Union::new([Passes::Offline, Passes::Offline, Passes::Online].map(Just)).prop_map(Setting::Passes),
        1 => Union::new([ReEntry::Keep, ReEntry::Requeue].map(Just)).prop_map(Setting::ReEntry),
        2 => entrance(),
        2 => prop_oneof![1 => Just(None), 2 => (0_u64..60).prop_map(Some)].prop_map(Setting::OpensIn),
        1 => Union::new([BeforeOpening::Fifo, BeforeOpening::Draw].map(Just)).prop_map(Setting::BeforeOpening),
        1 => prop_oneof![2 => Just(None), 1 => (0_u64..60).prop_map(Some)].prop_map(Setting::ClosesIn),
        1 => prop_oneof![3 => Just(None), 1 => (0_u64..60).prop_map(Some)].prop_map(Setting::EndsIn),
        2 => prop_oneof![1 => Just(0), 2 => 2_u32..60].prop_map(Setting::PresenceSeconds),
        1 => (1_u32..30).prop_map(Setting::CallSeconds),
        1 => (10_u32..120).prop_map(Setting::AbsentSeconds),
        1 => (0_u32..5).prop_map(Setting::QueueLimit),
        1 => (0_u32..3).prop_map(Setting::AbsentLimit),
        1 => prop_oneof![1 => Just(0), 1 => 5_u32..60].prop_map(Setting::WaitingSecondsMax),
        1 => prop_oneof![3 => Just(true), 1 => Just(false)].prop_map(Setting::LeaveOnClose),
        1 => (0_u32..=50).prop_map(Setting::LaneShare),
        // Pauses end more often than they start, so that most operations find the queue moving.
        4 => paused(),
    ]
}

/// A setting that an operator may change while the backup is away.
pub(crate) fn switch() -> impl Strategy<Value = Setting> {
    prop_oneof![1 => entrance(), 2 => paused()]
}

fn entrance() -> impl Strategy<Value = Setting> {
    let entrances = vec![
        (5, Just(Entrance::Open)),
        (2, Just(Entrance::Draining)),
        (2, Just(Entrance::Closed)),
        (1, Just(Entrance::Finished)),
        (1, Just(Entrance::Cancelled)),
    ];
    Union::new_weighted(entrances).prop_map(Setting::Entrance)
}

fn paused() -> impl Strategy<Value = Setting> {
    prop_oneof![1 => Just(true), 2 => Just(false)].prop_map(Setting::Paused)
}

/// Gives the switch to the line alone.
pub(crate) async fn switch_line(
    line: &Line,
    queue: &QueueId,
    setting: &Setting,
    now_ms: u64,
) -> Result<(), LineError> {
    let in_force = line.queue_view(queue).await?.view.configuration;
    let mut settings = in_force.settings.clone();
    setting.apply(&mut settings, now_ms);
    let order = SwitchOrder {
        name: if matches!(setting, Setting::Paused(_)) {
            "paused"
        } else {
            "entrance"
        },
        revision_before: in_force.revision.clone(),
        configuration: Configuration {
            revision: configuration(&settings).revision,
            settings,
            ..in_force
        },
    };
    line.switch(queue, &order).await.map(drop)
}

/// The backup has the switches of the line.
pub(crate) async fn settle_switches(line: &Line, queue: &QueueId) -> Result<(), LineError> {
    let unsaved = line.unsaved_switches(queue).await?;
    let serial = unsaved.as_ref().map_or(0, |switches| switches.serial);
    line.settle_switches(queue, serial).await.map(drop)
}

fn adaptive_bounds() -> impl Strategy<Value = Option<([u32; 2], [u32; 2])>> {
    let batches = (1_u32..4, 0_u32..6).prop_map(|(least, more)| [least, least + more]);
    let loads = (0_u32..4, 1_u32..60).prop_map(|(low, more)| [low, low + more]);
    prop_oneof![1 => Just(None), 2 => (batches, loads).prop_map(Some)]
}
