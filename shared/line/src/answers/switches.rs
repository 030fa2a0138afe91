//! Switches that an operator gives while the backup is away.

use vestibule_domain::configuration::Configuration;

/// A switch that comes into force in the line before the backup has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchOrder {
    /// The name of the setting: one of [`SWITCHES`](vestibule_domain::settings::SWITCHES).
    pub name: &'static str,
    /// The configuration in force, with the changed switch.
    pub configuration: Configuration,
    /// The revision of the configuration that the caller has changed.
    pub revision_before: String,
}

/// The switches of a queue that are in force in the line and that the backup may not have yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsavedSwitches {
    /// Rises with each of these switches. It says which of them a save has seen.
    pub serial: u64,
    /// The names of the settings, in alphabetical order.
    pub names: Vec<String>,
}
