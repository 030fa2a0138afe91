//! Reads tables, code spans, fenced blocks and numbers from a Markdown page.

use std::collections::BTreeSet;

/// A table of a Markdown page.
#[derive(Debug)]
pub struct Table {
    /// The titles of the columns.
    pub header: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// A block of code between two fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The language behind the opening fence, such as `sh`.
    pub language: String,
    /// The lines between the fences, without the indentation of the opening fence.
    pub text: String,
}

impl Table {
    /// The cell of a row in the column with this title.
    pub fn cell<'a>(&self, row: &'a [String], title: &str) -> Option<&'a str> {
        let column = self.header.iter().position(|known| known == title)?;
        row.get(column).map(String::as_str)
    }
}

/// The tables of a page, in order.
pub fn tables(page: &str) -> Vec<Table> {
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

/// The cells of a row.
pub fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The fenced blocks of a page, in order.
pub fn fences(page: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut lines = page.lines();
    while let Some(opening) = lines.next() {
        let Some((indentation, language)) = opening.split_once("```") else {
            continue;
        };
        if !indentation.trim().is_empty() {
            continue;
        }
        let inner = lines.by_ref().take_while(|line| line.trim() != "```");
        let mut text = String::new();
        for line in inner {
            text += line.strip_prefix(indentation).unwrap_or(line);
            text.push('\n');
        }
        fences.push(Fence {
            language: language.to_owned(),
            text,
        });
    }
    fences
}

/// The texts between backticks.
pub fn code_spans(text: &str) -> BTreeSet<&str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// The whole numbers in a text, with or without thousands separators.
pub fn numbers(text: &str) -> Vec<u64> {
    text.replace(',', "")
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}
