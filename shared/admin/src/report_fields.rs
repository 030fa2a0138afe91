//! The fields of the commands `report` and `entries`.

use vestibule_domain::state::EntryState;

use super::{
    Problem,
    command_fields::CommandFields,
    entries_order::{EntriesOrder, PAGE_ENTRIES_MAX},
    report_order::{ReportFormat, ReportOrder},
};

/// How many entries a page has if the command does not say.
const PAGE_ENTRIES: u32 = 100;

impl CommandFields {
    /// Reads which report to show, and how.
    pub(super) fn report_order(&mut self) -> Result<ReportOrder, Problem> {
        let format = match self.string("format")?.as_deref() {
            None | Some("json") => ReportFormat::Json,
            Some("csv") => ReportFormat::Csv,
            Some(_) => return Err(Problem::invalid_field("format", "must be json or csv")),
        };
        let generation = self.optional_integer_in_range("generation", 1..=u32::MAX)?;
        Ok(ReportOrder { generation, format })
    }

    /// Reads which entries to show.
    pub(super) fn entries_order(&mut self) -> Result<EntriesOrder, Problem> {
        let state = self.string("state")?.map(|name| find_state(&name)).transpose()?;
        let limit = self.integer_in_range("limit", Some(PAGE_ENTRIES), 1..=PAGE_ENTRIES_MAX)?;
        let cursor = self.string("cursor")?.map(|text| {
            let reason = "must be the cursor of an answer of this command";
            text.parse()
                .map_err(|()| Problem::invalid_field("cursor", reason))
        });
        Ok(EntriesOrder {
            state,
            limit: limit as usize,
            cursor: cursor.transpose()?,
        })
    }
}

fn find_state(name: &str) -> Result<EntryState, Problem> {
    let found = EntryState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| {
        let names = EntryState::ALL.map(EntryState::name).join(", ");
        Problem::invalid_field("state", format!("must be one of {names}"))
    })
}
