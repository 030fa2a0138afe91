//! The declaration of every setting: name, type, default, unit, range, effect, and whether scripts
//! read it.
//!
//! To add a setting, add it here and to the table in `docs/settings.md`; a test compares the two.
//! The rest follows from this list: the struct [`Settings`], its defaults, parsing and its error
//! texts, the stored form, `describe` with `help`, and the fields of the hash `config` that Redis
//! scripts read.

use serde_json::Value;

use super::{
    blocks::{BLOCKS_MAX, Blocks},
    error::SettingsError,
    field::{Field, FieldType},
    message::{MESSAGE_CHARACTERS_MAX, Message},
    ticket_keys::TicketKeys,
    values::SettingValue,
    words::{BeforeOpening, Entrance, LoadMeasure, Mode, OnOutage, Passes, ReEntry, Visitors},
};

/// The lowest `claim_seconds`. Visitors poll within two thirds of it, so a lower value would lose
/// turns on a slow network.
pub const CLAIM_SECONDS_MIN: u32 = 10;

/// The highest `lane_share`. More would turn the order of the lanes around.
const LANE_SHARE_PERCENT_MAX: u32 = 50;

/// The highest `grace_seconds`. The record with the old place is kept for at least an hour.
pub const GRACE_SECONDS_MAX: u32 = 3_600;

/// The settings that have operations of their own, such as `pause`, the emergency stop. These
/// operations work even if another stored setting is invalid.
pub const SWITCHES: [&str; 3] = ["entrance", "paused", "blocked"];

const HOUR_SECONDS: u32 = 3_600;
const DAY_SECONDS: u32 = 24 * HOUR_SECONDS;

/// Declares the struct [`Settings`] and the table [`FIELDS`] from one list. An entry of the list is
/// the doc comment with the effect, then `name: type = default, unit, values;`. The last part is
/// `read by scripts` if Redis scripts read the setting.
macro_rules! declare_settings {
    ($(
        $(#[doc = $meaning:literal])+
        $name:ident: $type:ty = $default:expr, $unit:literal, $values:expr $(, read by $reader:ident)?;
    )+) => {
        /// The settings of a queue, each within its range.
        // The comments are also what `describe` shows, so they have no Markdown.
        #[allow(clippy::doc_markdown)]
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
        pub struct Settings {
            $($(#[doc = $meaning])+ pub $name: $type,)+
        }

        /// All settings.
        pub const FIELDS: &[Field] = &[$(Field {
            name: stringify!($name),
            unit: $unit,
            field_type: $values,
            is_read_by_scripts: {
                let readers: &[&str] = &[$(stringify!($reader))?];
                !readers.is_empty()
            },
            meaning: concat!($($meaning),+).trim_ascii(),
        }),+];

        impl Default for Settings {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Settings {
            /// Parses the value of one setting and sets it.
            pub(super) fn set_field(
                &mut self,
                field: &Field,
                value: &Value,
            ) -> Result<(), SettingsError> {
                match field.name {
                    $(stringify!($name) => self.$name = SettingValue::parse(field, value)?,)+
                    other => unreachable!("every name in FIELDS is set above: {other}"),
                }
                Ok(())
            }
        }
    };
}

declare_settings! {
    /// The most slots that may be taken at once: by entries that are ready or active, and held ones.
    capacity: u32 = 100, "entries", number(1, 10_000_000), read by scripts;

    /// How many entries are promoted per interval.
    batch: u32 = 10, "entries", number(1, 1_000_000), read by scripts;

    /// The length of a promotion interval.
    interval_seconds: u32 = 10, "seconds", number(1, HOUR_SECONDS), read by scripts;

    /// Whether the load reports of the protected service move the pace: batch_max entries per interval up to load_low,
    /// batch_min from load_high on, and in proportion between. Then batch has no effect.
    adaptive: bool = false, "flag", FieldType::Flag, read by scripts;

    /// With adaptive: the fewest entries that are promoted per interval.
    batch_min: u32 = 1, "entries", number(1, 1_000_000), read by scripts;

    /// With adaptive: the most entries that are promoted per interval.
    batch_max: u32 = 10, "entries", number(1, 1_000_000), read by scripts;

    /// With adaptive: the highest load at which batch_max entries are promoted, in the unit of load_measure.
    load_low: u32 = 0, "load", number(0, 10_000_000), read by scripts;

    /// With adaptive: the lowest load at which batch_min entries are promoted, in the unit of load_measure.
    load_high: u32 = 0, "load", number(0, 10_000_000), read by scripts;

    /// With adaptive: the figure of a load report that moves the pace. tps: requests per second. latency_ms: the
    /// time for one request, in milliseconds.
    load_measure: LoadMeasure = LoadMeasure::Tps, "word", FieldType::Word(LoadMeasure::WORDS), read by scripts;

    /// How long a load report counts. With adaptive, no entry is promoted without one.
    load_ttl_seconds: u32 = 60, "seconds", number(1, HOUR_SECONDS), read by scripts;

    /// Whether a visitor who enters while no entry waits is let in at once, within the pace and the capacity. false:
    /// every visitor waits in line for a tick.
    fast_track: bool = true, "flag", FieldType::Flag, read by scripts;

    /// queue: visitors line up. passthrough: every visitor is let in at once, whatever the pace and the capacity,
    /// and those in line are promoted as soon as they check in.
    mode: Mode = Mode::Queue, "word", FieldType::Word(Mode::WORDS), read by scripts;

    /// How many percent of the promotions for which several lanes compete go to the lower lanes, so that no entry waits
    /// forever; 0: a lane has turns only while no lane before it has an entry to promote.
    lane_share: u32 = 10, "percent", number(0, LANE_SHARE_PERCENT_MAX), read by scripts;

    /// How long a promoted visitor has to claim. A lower value takes effect after the old one has
    /// passed.
    claim_seconds: u32 = 60, "seconds", number(CLAIM_SECONDS_MIN, HOUR_SECONDS), read by scripts;

    /// How long a visitor who missed the turn may enter again at the old place, once; 0 switches
    /// this off. A lower value takes effect after the old one has passed.
    grace_seconds: u32 = 600, "seconds", number(0, GRACE_SECONDS_MAX);

    /// How long the session of an admitted visitor lasts.
    session_seconds: u32 = 300, "seconds", number(1, DAY_SECONDS), read by scripts;

    /// The longest session after extensions, counted from the claim; never less than session_seconds.
    session_max_seconds: u32 = 3_600, "seconds", number(1, 7 * DAY_SECONDS);

    /// How long a pass is valid before it must be renewed; 0 is until the session ends.
    pass_seconds: u32 = 0, "seconds", number(0, HOUR_SECONDS), read by scripts;

    /// offline: the service checks passes by itself, so the slot of a visitor who leaves is held until
    /// the last pass has ended. online: it always asks validate, so the slot is free at once.
    passes: Passes = Passes::Offline, "word", FieldType::Word(Passes::WORDS), read by scripts;

    /// How long the record of an ended entry is kept in the table.
    retain_hours: u32 = 24, "hours", number(1, 720);

    /// What happens if a waiting visitor enters again: keep the place, or move to the back of the line.
    re_entry: ReEntry = ReEntry::Keep, "word", FieldType::Word(ReEntry::WORDS), read by scripts;

    /// open: visitors may enter. draining: no new visitor enters. closed: also, no entry is promoted.
    /// finished: the queue is over, and every waiting visitor is told so. sold_out, cancelled: the same, with the reason.
    entrance: Entrance = Entrance::Open, "word", FieldType::Word(Entrance::WORDS), read by scripts;

    /// When the queue opens, once and for all. Before, visitors enter and line up, and no entry is promoted.
    opens_at_ms: Option<u64> = None, "Unix milliseconds", FieldType::Time, read by scripts;

    /// The order of visitors who enter before opens_at_ms. fifo: as they come. draw: a draw that every visitor can
    /// verify. Those who enter later stand behind all of them.
    before_opening: BeforeOpening = BeforeOpening::Fifo, "word", FieldType::Word(BeforeOpening::WORDS), read by scripts;

    /// Whether draw is allowed with visitors anyone, where each browser has a chance of its own.
    draw_anyone: bool = false, "flag", FieldType::Flag;

    /// From this moment on, no new visitor enters an open queue, as while draining.
    closes_at_ms: Option<u64> = None, "Unix milliseconds", FieldType::Time, read by scripts;

    /// From this moment on, the queue is finished, whatever entrance says.
    ends_at_ms: Option<u64> = None, "Unix milliseconds", FieldType::Time, read by scripts;

    /// Who may begin a visit. anyone: every visitor. known: only a visitor whom an authorizer, a ticket or a
    /// trusted caller names. ticket: only a visitor with a ticket.
    visitors: Visitors = Visitors::Anyone, "word", FieldType::Word(Visitors::WORDS);

    /// The public keys that verify entry tickets, as a JWK set. The shop signs tickets with the private keys.
    ticket_keys: Option<TicketKeys> = None, "JWK set", FieldType::PublicKeys;

    /// While true, no entry is promoted and claim deadlines stand still; visitors may still enter.
    paused: bool = false, "flag", FieldType::Flag, read by scripts;

    /// The visitors and sources that may not enter. Only the commands block and unblock change it.
    blocked: Blocks = Blocks::default(), "blocks", FieldType::Blocks { max: BLOCKS_MAX };
    /// How far ahead of the turn visitors are called to poll their entries; before, they read the
    /// public document.
    check_in_seconds: u32 = 60, "seconds", number(10, HOUR_SECONDS), read by scripts;

    /// How long a called visitor counts as present after checking in by a poll; 0 promotes every
    /// visitor in turn, present or not.
    presence_seconds: u32 = 90, "seconds", number(0, HOUR_SECONDS), read by scripts;

    /// How long after being called a visitor who has not checked in is passed over.
    call_seconds: u32 = 30, "seconds", number(1, HOUR_SECONDS), read by scripts;

    /// How long the place of an absent visitor is kept.
    absent_seconds: u32 = 3_600, "seconds", number(10, DAY_SECONDS), read by scripts;

    /// The most polls by called visitors that the line is to answer. It bounds how many visitors
    /// are called at once.
    polls_per_second_max: u32 = 500, "polls per second", number(20, 100_000), read by scripts;

    /// The most entries in line, absent ones not counted: at this many, no new visitor enters; 0 is no limit.
    queue_limit: u32 = 0, "entries", number(0, 10_000_000), read by scripts;

    /// The most absent entries: beyond this many, the longest absences end; 0 is as many as queue_limit.
    absent_limit: u32 = 0, "entries", number(0, 10_000_000), read by scripts;

    /// How long a visitor may wait. An older wait ends; 0 is no limit. A pause or a closing of the queue starts
    /// the time anew for all who wait.
    waiting_seconds_max: u32 = 0, "seconds", number(0, 7 * DAY_SECONDS), read by scripts;

    /// Whether a waiting visitor who closes the page leaves the line 15 s later, unless a request of the visitor comes
    /// before. The client library tells the server of it if the page uses its module closing.
    leave_on_close: bool = false, "flag", FieldType::Flag, read by scripts;

    /// Whether the queue trusts the X-Visitor-Id header to identify the visitor.
    trust_client_visitor_id: bool = false, "flag", FieldType::Flag;

    /// While Redis is unavailable, validate answers 503 (closed) or accepts a recently valid pass
    /// (open).
    on_outage: OnOutage = OnOutage::Closed, "word", FieldType::Word(OnOutage::WORDS);

    /// With on_outage open: how long a pass is accepted after its end while Redis is unavailable.
    outage_grace_seconds: u32 = 300, "seconds", number(0, HOUR_SECONDS);

    /// A message for waiting visitors: one text, or an object of texts by language such as en, with default for the
    /// language of all others.
    message: Option<Message> = None, "text", FieldType::Message { max: MESSAGE_CHARACTERS_MAX };

    /// The address to which an admitted visitor goes. {pass} stands for the pass, and {return} for the path
    /// of the shop from which the visitor came. Without {pass}, the pass is in the fragment: #pass=...
    target_url: Option<String> = None, "address", FieldType::Url;
}

const fn number(min: u32, max: u32) -> FieldType {
    FieldType::Number { min, max }
}

impl Field {
    /// Finds the declaration of a setting by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.name == name)
    }
}
