//! What the commands of operators answer, as `result`: one type for each result. The doc comments of the members are their
//! descriptions in the reference.
//!
//! The admin function adds to each object of an answer, beside each moment such as `joined_at_ms`, the same as a text in UTC,
//! `joined_at`.

mod deployment;
mod entries;
mod numbers;
mod plan;
mod queues;
mod report;
mod visits;

use serde::Serialize;
use serde_json::Value;

pub use self::{
    deployment::{Build, KeyRotation, PreflightResult},
    entries::{
        EntryList, EntryRow, Evictions, MatchingEntries, SourceCounts, SourceList, SourceRow, StageCounts,
    },
    numbers::{
        DurationTotals, Imbalance, JournalCapacity, LastLoad, ListedNumbers, QueueList, QueueNumbers,
        QueueRow, QueueStats, StayTotals,
    },
    plan::{BillItem, CrowdBill, CrowdPlan, PartPlan, PlannedSettings, ServicePlan},
    queues::{
        AllDefaults, BlockChange, CheckResult, CommandHelp, CreatedQueue, CreatedQueues, CreationRow,
        DeletedQueue, NewQueue, PrefixDefaults, QueueDescription, RestoredQueue, SettingHelp, SettingsChange,
    },
    report::{CsvReport, DurationReport, LiveCounts, QueueReport, ReportedTotals},
    visits::{
        BlockInForce, EntryPromotion, Eviction, InspectedEntry, LaneMove, Place, Promotion, RecordKeys,
        RecordVersion, RecordedVisit,
    },
};

/// The result as JSON.
#[allow(clippy::missing_panics_doc)] // A struct of plain fields always serializes.
pub fn to_value(result: impl Serialize) -> Value {
    serde_json::to_value(result).expect("plain fields")
}
