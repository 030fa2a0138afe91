//! What the line needs to know of a stored queue.

use super::{id::Salt, settings::Settings};

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
}
