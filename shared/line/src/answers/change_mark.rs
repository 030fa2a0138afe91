//! The mark of the last change of a queue.

use vestibule_domain::change::Version;

/// Identifies the state of a queue apart from its ticks, clocks and averages. Two equal marks, read one after
/// the other, show that no visitor entered or left in between, that no setting changed, and that the line
/// neither lost the queue nor went back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeMark {
    /// The version of the last change.
    pub version: Version,
    /// The watermark, which a line that went back may lack.
    pub watermark: u64,
}
