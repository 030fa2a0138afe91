//! Reads the whole state of a queue with plain commands, past the line.

use std::collections::BTreeMap;

use vestibule_domain::{id::EntryId, score::WaitScore};

use super::CheckedLine;

/// The state of a queue , without its configuration and its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dump {
    /// The waiting entries with their raw scores, in order.
    pub(crate) waiting: Vec<(EntryId, u64)>,
    /// The ready entries with their deadlines by the claim clock, in order. Entries with equal
    /// deadlines are ordered by id.
    pub(crate) ready: Vec<(EntryId, u64)>,
    /// The active entries with the ends of their sessions, in order. Entries with equal ends are
    /// ordered by id.
    pub(crate) active: Vec<(EntryId, u64)>,
    /// The entries whose slots are held, with the times at which these become free, in order.
    pub(crate) held: Vec<(EntryId, u64)>,
    /// The visits and steps of entries that are ready, active, held or waiting again, by id. When the session began
    /// follows if the entry is active, and the way of ending if it is held: see `include/visits.lua`.
    pub(crate) visits: Vec<(EntryId, String)>,
    /// The ends by id: epoch, version, visit, step, time of the step, way of ending and time.
    pub(crate) ended: Vec<(EntryId, String)>,
    /// The settled ends with the times at which the backup had them, in order. Entries with equal
    /// times are ordered by id.
    pub(crate) settled: Vec<(EntryId, u64)>,
    /// The present entries with their places, in order.
    pub(crate) present: Vec<(EntryId, u64)>,
    /// The last check-ins of the called entries by the presence clock in half milliseconds, in order; negative for
    /// those that are not present, and odd for those whose visitors have only entered. Entries with equal numbers are ordered by id.
    pub(crate) seen: Vec<(EntryId, i64)>,
    /// The entries whose visitors closed the page, with the line times of that, in order.
    pub(crate) closing: Vec<(EntryId, u64)>,
    /// The fields about presence: the clock, the calls and the marks.
    pub(crate) presence: BTreeMap<String, String>,
    /// How far each lane has moved.
    pub(crate) lanes: Vec<(u8, String)>,
    /// How the lanes share the promotions; empty while there is only the default lane.
    pub(crate) lane_turns: String,
    /// Whether an entry had another lane than the default one.
    pub(crate) has_lanes: bool,
    /// Why the last tick promoted no entry although some wait; empty if there is no such reason.
    pub(crate) standstill: String,
    /// All numbers of the state.
    pub(crate) state: BTreeMap<String, i64>,
}

impl CheckedLine {
    /// The state, read with the keys of the design.
    pub(super) async fn dump(&self) -> Dump {
        type Scored = Vec<(String, f64)>;
        type Fields = BTreeMap<String, String>;
        let key = |name: &str| format!("vestibule:{{{}}}:{name}", self.queue);
        let (mut sets, mut hashes) = (redis::pipe(), redis::pipe());
        for name in [
            "waiting", "ready", "active", "held", "settled", "present", "seen", "closing",
        ] {
            sets.zrange_withscores(key(name), 0, -1);
        }
        for name in ["visits", "ended", "state"] {
            hashes.hgetall(key(name));
        }
        let (mut one_link, mut other_link) = (self.link.clone(), self.link.clone());
        let (sets, hashes) = tokio::join!(
            sets.query_async::<Vec<Scored>>(&mut one_link),
            hashes.query_async::<(Fields, Fields, BTreeMap<String, Vec<u8>>)>(&mut other_link)
        );
        let sets: [Scored; 8] = sets.expect("Redis answers").try_into().expect("eight sets");
        let [waiting, ready, active, held, settled, present, seen, closing] = sets;
        let (visits, ended, state) = hashes.expect("Redis answers");
        let by_id = |fields: Fields| {
            let fields = fields.into_iter();
            let mut texts: Vec<_> = fields.map(|(member, text)| (entry(&member), text)).collect();
            texts.sort_unstable();
            texts
        };
        let scored = |entries: Scored| {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|(member, score)| (entry(member), to_integer(*score)))
                .collect();
            entries.sort_by_key(|(id, score)| (*score, *id));
            entries
        };
        Dump {
            waiting: scored(waiting),
            ready: scored(ready),
            active: scored(active),
            held: scored(held),
            visits: by_id(visits)
                .into_iter()
                .map(|(id, text)| (id, normalize_visit(text)))
                .collect(),
            ended: by_id(ended),
            settled: scored(settled),
            present: scored(present),
            seen: read_seen(&seen),
            closing: scored(closing),
            presence: presence_fields(&state),
            lanes: read_lanes(&state),
            // The first tick that meets another lane stores them even if no lane had a turn yet.
            lane_turns: Some(read_text(&state, "lane_turns"))
                .filter(|text| text != "0 0")
                .unwrap_or_default(),
            has_lanes: state["line"][FLAGS_AT] >= 2,
            standstill: read_text(&state, "standstill"),
            state: unpack_line(&state["line"])
                .into_iter()
                .chain(parse_numbers(&state))
                .collect(),
        }
    }
}

/// The last check-ins in half milliseconds, negative for entries that are not present any more.
fn read_seen(seen: &[(String, f64)]) -> Vec<(EntryId, i64)> {
    let seen = seen.iter().map(|(member, score)| {
        let ms = to_integer(2.0 * score.abs()).cast_signed();
        (entry(member), if *score < 0.0 { -ms } else { ms })
    });
    let mut seen: Vec<_> = seen.collect();
    seen.sort_by_key(|(id, ms)| (*ms, *id));
    seen
}

/// What the hash `state` has about presence.
fn presence_fields(state: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    let fields = state.iter().filter(|(field, _)| is_about_presence(field));
    fields
        .map(|(field, text)| (field.clone(), String::from_utf8_lossy(text).into_owned()))
        .collect()
}

fn is_about_presence(field: &str) -> bool {
    let prefixes = ["calls_", "called_", "passed_"];
    ["presence", "check_ins"].contains(&field) || prefixes.iter().any(|prefix| field.starts_with(prefix))
}

/// Where the field `line` of the hash `state` has the flags of `include/line.lua`: behind eight numbers.
const FLAGS_AT: usize = 64;

/// A text of the hash `state`; empty if it has none.
fn read_text(state: &BTreeMap<String, Vec<u8>>, field: &str) -> String {
    let text = state.get(field);
    text.map(|text| String::from_utf8_lossy(text).into_owned())
        .unwrap_or_default()
}

/// The texts of the lanes that the hash `state` has.
fn read_lanes(state: &BTreeMap<String, Vec<u8>>) -> Vec<(u8, String)> {
    let lanes = state.iter().filter_map(|(field, text)| {
        let lane = field.strip_prefix("lane_")?.parse().ok()?;
        Some((lane, String::from_utf8_lossy(text).into_owned()))
    });
    lanes.collect()
}

/// The numbers in the field `line` of the hash `state`, but for the epoch, which is one of the configuration.
fn unpack_line(packed: &[u8]) -> Vec<(String, i64)> {
    let names = [
        "v",
        "last_order",
        "entered",
        "offset_ms",
        "heartbeat_ms",
        "epoch",
        "absent",
    ];
    names
        .into_iter()
        .zip(packed.chunks_exact(8))
        .filter(|(name, _)| *name != "epoch")
        .map(|(name, bytes)| {
            let number = f64::from_le_bytes(bytes.try_into().expect("a double has 8 bytes"));
            assert!(
                number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0,
                "{name} is {number}"
            );
            // The assertion above makes the cast exact.
            #[allow(clippy::cast_possible_truncation)]
            let number = number as i64;
            (name.to_owned(), number)
        })
        .collect()
}

/// The numbers in the other fields, but for the load report, which the views show, and the part of the configuration that
/// enter.lua reads. The answers of `enter`
/// show whether that is right.
fn parse_numbers(state: &BTreeMap<String, Vec<u8>>) -> impl Iterator<Item = (String, i64)> {
    let numbers = state.iter().filter(|(name, _)| {
        let is_other = ["line", "load", "re_entry", "paused", "standstill"].contains(&name.as_str())
            || name.starts_with("lane_");
        !is_other && !is_about_presence(name)
    });
    numbers.map(|(name, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        let number = text.parse().unwrap_or_else(|_| panic!("{name} is {text}"));
        (name.clone(), number)
    })
}

/// An entry that has its first turn is in `visits` with its place, which the promotion has at hand. The place tells the
/// visit.
fn normalize_visit(text: String) -> String {
    match text.parse().ok().and_then(WaitScore::from_raw) {
        Some(place) => format!("{} 1", place.visit().number()),
        None => text,
    }
}

fn entry(member: &str) -> EntryId {
    EntryId::from_member(member).expect("a member is a valid entry id")
}

fn to_integer(score: f64) -> u64 {
    assert!(
        score.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&score),
        "{score}"
    );
    // The assertion above makes the cast exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let score = score as u64;
    score
}
