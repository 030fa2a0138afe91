//! The settings of a queue, which operators edit. `declaration` lists each of them once.

mod blocks;
mod declaration;
mod derived;
mod error;
mod field;
mod map;
mod message;
#[cfg(test)]
mod tests;
mod ticket_keys;
mod values;
mod words;

pub use self::{
    blocks::{BLOCKS_MAX, Block, BlockTarget, Blocks, TooManyBlocks},
    declaration::{CLAIM_SECONDS_MIN, FIELDS, GRACE_SECONDS_MAX, SWITCHES, Settings},
    error::SettingsError,
    field::{Field, FieldType},
    map::times_in_ms,
    message::{MESSAGE_CHARACTERS_MAX, MESSAGE_LANGUAGES_MAX, Message},
    ticket_keys::{TICKET_KEYS_BYTES_MAX, TICKET_KEYS_MAX, TicketAlgorithm, TicketKey, TicketKeys},
    words::{BeforeOpening, Entrance, FinishReason, LoadMeasure, Mode, OnOutage, Passes, ReEntry, Visitors},
};
