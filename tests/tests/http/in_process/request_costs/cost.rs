//! Counts what requests ask of the line and of the table.

use std::{collections::BTreeMap, fmt};

use vestibule_domain::id::EntryId;
use vestibule_tests::in_process::{EntrySnapshot, InProcessApi};

/// What a process asks at most once a second for all of its requests, to know the queue.
const VIEWS: [&str; 2] = ["queue_view", "read_queue"];
/// What a process does once, or if the promoter is late, whatever the request is.
const SHARED: [&str; 2] = ["record_root_key", "take_fallback_tick"];

/// What was asked of the line and of the table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    scripts: BTreeMap<String, u64>,
    table: BTreeMap<String, u64>,
    /// Whether the line or the table has something else of an entry than before.
    changes: bool,
}

impl Cost {
    pub(super) fn scripts(&self) -> u64 {
        self.scripts.values().sum()
    }

    pub(super) fn reads(&self) -> u64 {
        self.table
            .iter()
            .filter(|(name, _)| name.starts_with("read"))
            .map(|(_, calls)| calls)
            .sum()
    }

    pub(super) fn writes(&self) -> u64 {
        self.table.values().sum::<u64>() - self.reads()
    }
}

/// Shows the scripts by their names, and the reads and writes by their number.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scripts: Vec<_> = self
            .scripts
            .iter()
            .map(|(name, calls)| match calls {
                1 => format!("`{name}`"),
                calls => format!("{calls} × `{name}`"),
            })
            .collect();
        let scripts = if scripts.is_empty() {
            "–".to_owned()
        } else {
            scripts.join(", ")
        };
        let changes = if self.changes { "yes" } else { "–" };
        write!(f, "{scripts} | {} | {} | {changes}", self.reads(), self.writes())
    }
}

/// Counts from one reading to the next.
pub(super) struct Meter {
    counts_views: bool,
    line: BTreeMap<String, u64>,
    backup: BTreeMap<String, u64>,
    entries: EntrySnapshot,
    /// The entries whose records are compared.
    ids: Vec<EntryId>,
}

impl Meter {
    pub(super) async fn of(api: &InProcessApi, ids: &[EntryId]) -> Self {
        Self {
            counts_views: false,
            ids: ids.to_vec(),
            line: api.faults.all_calls(),
            backup: api.backup_faults.all_calls(),
            entries: api.snapshot_entries(ids).await,
        }
    }

    /// Counts what looks up the queue too.
    pub(super) fn with_views(self) -> Self {
        Self {
            counts_views: true,
            ..self
        }
    }

    /// Returns what was asked since the last reading.
    pub(super) async fn read(&mut self, api: &InProcessApi) -> Cost {
        let now = Self {
            counts_views: self.counts_views,
            ..Self::of(api, &self.ids).await
        };
        let before = std::mem::replace(self, now);
        let counts = |later: &BTreeMap<String, u64>, earlier: &BTreeMap<String, u64>| {
            let counted = later.iter().filter(|(name, _)| {
                !SHARED.contains(&name.as_str()) && (self.counts_views || !VIEWS.contains(&name.as_str()))
            });
            let new = counted.map(|(name, calls)| {
                (
                    name.clone(),
                    calls - earlier.get(name).copied().unwrap_or_default(),
                )
            });
            new.filter(|(_, calls)| *calls > 0).collect()
        };
        Cost {
            scripts: counts(&self.line, &before.line),
            table: counts(&self.backup, &before.backup),
            changes: !before.entries.changed(&self.entries).is_empty(),
        }
    }
}
