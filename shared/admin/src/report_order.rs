//! Which report the command `report` shows, and how.

/// Which report to show, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReportOrder {
    /// The generation; `None` for the last one.
    pub(super) generation: Option<u32>,
    pub(super) format: ReportFormat,
}

/// How a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportFormat {
    Json,
    Csv,
}
