//! Where the tables are, and their names.

/// Where the tables are.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// The address of an emulator; `None` means the endpoint of the region.
    pub endpoint_url: Option<String>,
    /// The names of the tables.
    pub tables: TableNames,
}

/// The names of the two tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNames {
    /// The table with the settings and the metadata of every queue.
    pub queues: String,
    /// The table with every entry.
    pub entries: String,
}

impl Default for TableNames {
    fn default() -> Self {
        Self {
            queues: "vestibule-queues".to_owned(),
            entries: "vestibule-entries".to_owned(),
        }
    }
}
