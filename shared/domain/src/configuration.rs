//! What the line needs to know of a stored queue.

use super::{id::Salt, kept_times::KeptTimes, settings::Settings};

/// The layout of what a queue stores in the line and in the backup. It rises with each change that
/// an earlier build cannot read. A build serves queues of its own layout only: see
/// `docs/adr/0019-layout-number.md`.
pub const LAYOUT: u32 = 3;

/// The configuration of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The settings in force.
    pub settings: Settings,
    /// The revision of these settings. A different revision is a different configuration.
    pub revision: String,
    /// How often Vestibule has replaced the stored settings. Of two copies, the one with the higher
    /// number is newer.
    pub settings_order: u64,
    /// The epoch. Each restore raises it.
    pub epoch: u32,
    /// The generation. Each reset raises it.
    pub generation: u32,
    /// The lowest epoch whose passes are valid.
    pub min_epoch: u32,
    /// The salt of this generation.
    pub salt: Salt,
    /// When the queue opened, in Unix milliseconds of line time; `None` as long as that is not recorded. Once it is, a
    /// later `opens_at_ms` has no effect in this generation.
    pub opened_at_ms: Option<u64>,
    /// What earlier settings have given out. A line that begins anew reads it, and whoever answers about a missed turn.
    pub kept_times: KeptTimes,
}
