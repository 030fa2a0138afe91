//! Settings that take one of a few words.

use serde_json::Value;

use super::{error::SettingsError, field::Field, values::SettingValue};

/// Declares an enum of words: each variant with the word that operators write, which the table
/// stores and Redis scripts read.
macro_rules! declare_words {
    (
        $(#[doc = $meaning:literal])+
        pub enum $name:ident {
            $($(#[doc = $variant_meaning:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $meaning])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[doc = $variant_meaning])+ #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl SettingValue for $name {
            fn parse(
                field: &Field,
                value: &Value,
            ) -> Result<Self, SettingsError> {
                serde_json::from_value(value.clone()).map_err(|_| field.refuse_value())
            }
        }
    };
}

declare_words! {
    /// What happens if a waiting visitor enters again.
    pub enum ReEntry {
        /// The visitor keeps the place.
        Keep = "keep",
        /// The visitor moves to the back of the line.
        Requeue = "requeue",
    }
}

declare_words! {
    /// Whether visitors line up.
    pub enum Mode {
        /// They do, and are promoted at the pace of the queue, up to its capacity.
        Queue = "queue",
        /// They do not: every visitor is let in at once, whatever the pace and the capacity.
        Passthrough = "passthrough",
    }
}

declare_words! {
    /// Which figure of a load report moves an adaptive pace.
    pub enum LoadMeasure {
        /// The requests per second that the protected service serves.
        Tps = "tps",
        /// The time that it takes for one request, in milliseconds.
        LatencyMs = "latency_ms",
    }
}

declare_words! {
    /// Who may enter.
    pub enum Entrance {
        /// All visitors may enter.
        Open = "open",
        /// No new visitor may enter. Entries in line are still served.
        Draining = "draining",
        /// No new visitor may enter and no entry is promoted. Entries keep their places.
        Closed = "closed",
        /// The queue is over: no visitor enters, and every waiting entry ends. Ready entries may still be
        /// claimed, and sessions go on.
        Finished = "finished",
        /// As `finished`, and visitors are told that everything is sold.
        SoldOut = "sold_out",
        /// As `finished`, and visitors are told that what they wait for does not take place.
        Cancelled = "cancelled",
    }
}

declare_words! {
    /// Why a queue is over, as visitors are told.
    pub enum FinishReason {
        /// It is, and visitors learn no more.
        Over = "over",
        /// Everything is sold.
        SoldOut = "sold_out",
        /// What they wait for does not take place.
        Cancelled = "cancelled",
    }
}

declare_words! {
    /// The order of the visitors who come before the opening.
    pub enum BeforeOpening {
        /// They line up as they come.
        Fifo = "fifo",
        /// A draw orders them.
        Draw = "draw",
    }
}

declare_words! {
    /// Which visitors may begin a visit.
    pub enum Visitors {
        /// Any visitor, also one without a verified identity.
        Anyone = "anyone",
        /// A visitor whom an authorizer, a ticket or a trusted caller names.
        Known = "known",
        /// A visitor with a ticket.
        Ticket = "ticket",
    }
}

declare_words! {
    /// Where the protected service checks passes.
    pub enum Passes {
        /// In the service itself, so a pass counts until its end. The slot of a visitor who leaves is
        /// held as long.
        Offline = "offline",
        /// By `validate`, always. The slot of a visitor who leaves is free at once.
        Online = "online",
    }
}

declare_words! {
    /// How `validate` answers while the line is unavailable.
    pub enum OnOutage {
        /// It refuses every visitor, because no entry can be verified.
        Closed = "closed",
        /// It accepts a pass that was valid a short time ago.
        Open = "open",
    }
}
