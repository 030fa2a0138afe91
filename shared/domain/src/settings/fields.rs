//! The table of all settings: unit, range, default and meaning of each field. Parsing, help and documentation
//! use it.

use super::{CLAIM_SECONDS_MIN, GRACE_SECONDS_MAX};

/// The values that a field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A whole number within a range, both ends included.
    Number {
        /// The smallest value.
        min: u32,
        /// The largest value.
        max: u32,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A text of limited length. `null` or an empty text clears it.
    Text {
        /// The most characters.
        max: usize,
    },
    /// An `https` URL, or an `http` URL of the loopback host. `null` or an empty text clears it.
    Url,
}

/// One setting: its name, unit, range, default and meaning.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name of the setting.
    pub name: &'static str,
    /// The unit, or what the value counts.
    pub unit: &'static str,
    /// The values that the setting accepts.
    pub field_type: FieldType,
    /// The default, as an operator would write it.
    pub default: &'static str,
    /// The effect of the setting.
    pub meaning: &'static str,
}

const DAY_SECONDS: u32 = 86_400;

/// All settings.
pub const FIELDS: [Field; 17] = [
    Field {
        name: "capacity",
        unit: "entries",
        field_type: FieldType::Number {
            min: 1,
            max: 10_000_000,
        },
        default: "100",
        meaning: "The most entries that may be ready and active at once.",
    },
    Field {
        name: "batch",
        unit: "entries",
        field_type: FieldType::Number {
            min: 1,
            max: 1_000_000,
        },
        default: "10",
        meaning: "How many entries are promoted per interval.",
    },
    Field {
        name: "interval_seconds",
        unit: "seconds",
        field_type: FieldType::Number { min: 1, max: 3_600 },
        default: "10",
        meaning: "The length of a promotion interval.",
    },
    Field {
        name: "claim_seconds",
        unit: "seconds",
        field_type: FieldType::Number {
            min: CLAIM_SECONDS_MIN,
            max: 3_600,
        },
        default: "60",
        meaning: "How long a promoted visitor has to claim. A lower value takes effect after the old one has passed.",
    },
    Field {
        name: "grace_seconds",
        unit: "seconds",
        field_type: FieldType::Number {
            min: 0,
            max: GRACE_SECONDS_MAX,
        },
        default: "600",
        meaning: "How long a visitor who missed the turn may enter again at the old place, once; 0 switches this off.",
    },
    Field {
        name: "session_seconds",
        unit: "seconds",
        field_type: FieldType::Number {
            min: 1,
            max: DAY_SECONDS,
        },
        default: "300",
        meaning: "How long the session of an admitted visitor lasts.",
    },
    Field {
        name: "session_max_seconds",
        unit: "seconds",
        field_type: FieldType::Number {
            min: 1,
            max: 7 * DAY_SECONDS,
        },
        default: "3600",
        meaning: "The longest session after extensions, counted from the claim; never less than session_seconds.",
    },
    Field {
        name: "pass_seconds",
        unit: "seconds",
        field_type: FieldType::Number { min: 5, max: 3_600 },
        default: "60",
        meaning: "How long a pass is valid before it must be renewed.",
    },
    Field {
        name: "retain_hours",
        unit: "hours",
        field_type: FieldType::Number { min: 1, max: 720 },
        default: "24",
        meaning: "How long the record of an ended entry is kept in the table.",
    },
    Field {
        name: "re_entry",
        unit: "word",
        field_type: FieldType::Word(&["keep", "requeue"]),
        default: "keep",
        meaning: "What happens if a waiting visitor enters again: keep the place, or move to the back of the line.",
    },
    Field {
        name: "entrance",
        unit: "word",
        field_type: FieldType::Word(&["open", "draining", "closed"]),
        default: "open",
        meaning: "open: visitors may enter. draining: no new visitor enters. closed: also, no entry is promoted.",
    },
    Field {
        name: "paused",
        unit: "flag",
        field_type: FieldType::Flag,
        default: "false",
        meaning: "While true, no entry is promoted and claim deadlines stand still; visitors may still enter.",
    },
    Field {
        name: "trust_client_visitor_id",
        unit: "flag",
        field_type: FieldType::Flag,
        default: "false",
        meaning: "Whether the queue trusts the X-Visitor-Id header to identify the visitor.",
    },
    Field {
        name: "on_outage",
        unit: "word",
        field_type: FieldType::Word(&["closed", "open"]),
        default: "closed",
        meaning: "While Redis is unavailable, validate answers 503 (closed) or accepts a recently valid pass (open).",
    },
    Field {
        name: "outage_grace_seconds",
        unit: "seconds",
        field_type: FieldType::Number { min: 0, max: 3_600 },
        default: "300",
        meaning: "With on_outage open: how long a pass is accepted after its end while Redis is unavailable.",
    },
    Field {
        name: "message",
        unit: "text",
        field_type: FieldType::Text { max: 500 },
        default: "",
        meaning: "A message for waiting visitors.",
    },
    Field {
        name: "target_url",
        unit: "address",
        field_type: FieldType::Url,
        default: "",
        meaning: "Where the waiting page sends an admitted visitor, with the pass in the fragment: #pass=...",
    },
];
