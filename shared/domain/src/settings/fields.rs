//! The table of all settings: every field's unit, range, default and meaning. Parsing, help and documentation read it.

use super::{CLAIM_SECONDS_MIN, GRACE_SECONDS_MAX};

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A whole number within a range, both ends included.
    Number {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A text of at most so many characters; `null` or an empty one clears it.
    Text {
        /// The most characters.
        max: usize,
    },
    /// An `https` address, or an `http` one of the loopback host; `null` or an empty one clears it.
    Url,
}

/// One setting: its name, unit, range, default and meaning.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The unit, or what it counts.
    pub unit: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// The default, as an operator would write it.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

const DAY_SECONDS: u32 = 86_400;

/// Every setting there is.
pub const FIELDS: [Field; 17] = [
    Field {
        name: "capacity",
        unit: "entries",
        takes: Takes::Number {
            min: 1,
            max: 10_000_000,
        },
        default: "100",
        meaning: "The most entries that may be ready and active at once.",
    },
    Field {
        name: "batch",
        unit: "entries",
        takes: Takes::Number {
            min: 1,
            max: 1_000_000,
        },
        default: "10",
        meaning: "How many are promoted each interval.",
    },
    Field {
        name: "interval_seconds",
        unit: "seconds",
        takes: Takes::Number { min: 1, max: 3_600 },
        default: "10",
        meaning: "The length of an interval.",
    },
    Field {
        name: "claim_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: CLAIM_SECONDS_MIN,
            max: 3_600,
        },
        default: "60",
        meaning: "How long a promoted visitor has to claim. A lower one takes effect when the old one has passed.",
    },
    Field {
        name: "grace_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: 0,
            max: GRACE_SECONDS_MAX,
        },
        default: "600",
        meaning: "How long a visitor who missed the turn may enter again at the old place, once; 0 for never.",
    },
    Field {
        name: "session_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: 1,
            max: DAY_SECONDS,
        },
        default: "300",
        meaning: "How long a visitor who was let in may stay.",
    },
    Field {
        name: "session_max_seconds",
        unit: "seconds",
        takes: Takes::Number {
            min: 1,
            max: 7 * DAY_SECONDS,
        },
        default: "3600",
        meaning: "How long a stay may become by being extended, counted from the claim; never less than session_seconds.",
    },
    Field {
        name: "pass_seconds",
        unit: "seconds",
        takes: Takes::Number { min: 5, max: 3_600 },
        default: "60",
        meaning: "How long a pass is good for before it must be renewed.",
    },
    Field {
        name: "retain_hours",
        unit: "hours",
        takes: Takes::Number { min: 1, max: 720 },
        default: "24",
        meaning: "How long an entry that is gone is kept in the table.",
    },
    Field {
        name: "re_entry",
        unit: "word",
        takes: Takes::Word(&["keep", "requeue"]),
        default: "keep",
        meaning: "What becomes of a waiting visitor who enters again: the same place, or the back of the line.",
    },
    Field {
        name: "entrance",
        unit: "word",
        takes: Takes::Word(&["open", "draining", "closed"]),
        default: "open",
        meaning: "Who may enter: everybody; nobody new; or nobody, with promotion stopped as well.",
    },
    Field {
        name: "paused",
        unit: "flag",
        takes: Takes::Flag,
        default: "false",
        meaning: "Nobody is promoted and claim deadlines stand still; entering goes on.",
    },
    Field {
        name: "trust_client_visitor_id",
        unit: "flag",
        takes: Takes::Flag,
        default: "false",
        meaning: "Whether the X-Visitor-Id header is believed to name the visitor.",
    },
    Field {
        name: "on_outage",
        unit: "word",
        takes: Takes::Word(&["closed", "open"]),
        default: "closed",
        meaning: "What validate says while Redis is away: 503, or yes to whoever shows a pass that was good.",
    },
    Field {
        name: "outage_grace_seconds",
        unit: "seconds",
        takes: Takes::Number { min: 0, max: 3_600 },
        default: "300",
        meaning: "With on_outage open: how long a pass is honoured past its end while Redis is away.",
    },
    Field {
        name: "message",
        unit: "text",
        takes: Takes::Text { max: 500 },
        default: "",
        meaning: "Shown to those who wait.",
    },
    Field {
        name: "target_url",
        unit: "address",
        takes: Takes::Url,
        default: "",
        meaning: "Where the waiting page sends a visitor who was let in, with the pass in the fragment: #pass=...",
    },
];
