//! Reads tables, code spans and numbers from a Markdown page.

use std::collections::BTreeSet;

/// A table of a Markdown page.
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The cell of a row in the column with this title.
    pub(crate) fn cell<'a>(&self, row: &'a [String], title: &str) -> Option<&'a str> {
        let column = self.header.iter().position(|known| known == title)?;
        row.get(column).map(String::as_str)
    }
}

pub(crate) fn tables(page: &str) -> Vec<Table> {
    let lines: Vec<_> = page.lines().collect();
    lines
        .chunk_by(|line, next| line.starts_with('|') == next.starts_with('|'))
        .filter(|lines| lines.len() > 2 && lines[0].starts_with('|'))
        .map(|lines| Table {
            header: cells(lines[0]),
            // The second line only separates the header from the rows.
            rows: lines[2..].iter().map(|line| cells(line)).collect(),
        })
        .collect()
}

pub(crate) fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The texts between backticks.
pub(crate) fn code_spans(text: &str) -> BTreeSet<&str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// The whole numbers in a text, with or without thousands separators.
pub(crate) fn numbers(text: &str) -> Vec<u64> {
    text.replace(',', "")
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}
