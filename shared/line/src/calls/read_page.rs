//! Reads the entries of a queue page by page: sends `read_page.lua`.

use vestibule_domain::{
    entry_status::StoredEntry,
    fact::{Fact, Step},
    id::{EntryId, QueueId},
    score::{Visit, WaitScore},
};

use super::{Line, end::parse_end, fields::parse_integer, reply::parse_entry_id, script::script};
use crate::{Cursor, LineError, PAGE_ENTRIES, Page};

script!(READ_PAGE, "recovery/read_page");

/// What a scan goes through, in the order in which a visit does. An entry that moves on during the
/// scan is therefore on two pages, and never missing.
const SCANNED_SETS: [&str; 5] = ["waiting", "ready", "active", "held", "ended"];

impl Line {
    /// Returns one page of the entries of a queue, beginning at `from`. A page has about
    /// [`PAGE_ENTRIES`](crate::PAGE_ENTRIES) entries at most.
    pub async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        let Some(set) = SCANNED_SETS.get(from.set) else {
            return Ok(Page::default());
        };
        let call = self
            .begin_call(&READ_PAGE, queue)
            .arg(set)
            .arg(if from.after.is_empty() { "0" } else { &from.after })
            .arg(PAGE_ENTRIES);
        let mut reply = call.send(self).await?;
        if reply.outcome() != "page" {
            return Err(reply.protocol_error("a known outcome"));
        }
        let (after, pairs, marks) = (
            reply.read_text()?,
            reply.read_texts()?,
            reply.read_optional_texts()?,
        );
        let claim_delay_ms = reply.read_number()?;
        let mut page = Page {
            next: find_next(from.set, after),
            ..Page::default()
        };
        let mut marks = marks.into_iter();
        for pair in pairs.chunks_exact(2) {
            let (id, value, mark) = (parse_entry_id(&pair[0])?, &pair[1], marks.next().flatten());
            if *set != "ended" {
                let entry = parse_entry(set, value, mark.as_deref(), claim_delay_ms);
                let entry = entry.ok_or_else(|| unreadable_entry(set, id, value))?;
                if *set == "held" {
                    page.held.push((id, entry.fact));
                } else {
                    page.entries.push((id, entry));
                }
            } else if mark.is_none() {
                page.ends.push(parse_end(id, value)?);
            }
        }
        Ok(page)
    }
}

/// Where the next page begins; `None` after the last one.
fn find_next(set: usize, after: String) -> Option<Cursor> {
    if after != "0" {
        return Some(Cursor { set, after });
    }
    let set = set + 1;
    (set < SCANNED_SETS.len()).then(|| Cursor {
        set,
        ..Cursor::default()
    })
}

/// Parses an entry of a sorted set from its score and from what `visits` has of it.
fn parse_entry(set: &str, score: &str, visit: Option<&str>, claim_delay_ms: u64) -> Option<StoredEntry> {
    let score = parse_integer(score)?;
    let (visit, step, mark) = match visit {
        Some(visit) => parse_visit(visit)?,
        None if set == "waiting" => (WaitScore::from_raw(score)?.visit(), Step::Waiting, None),
        None => return None,
    };
    let place = if set == "waiting" {
        Some(WaitScore::of_visit(score, visit)?)
    } else {
        None
    };
    let place = place.or_else(|| {
        mark.is_some_and(|mark| mark.ends_with("fast"))
            .then(|| visit.place())
    });
    let step_ms = match set {
        // When an operator moved the entry to another lane.
        "waiting" => mark.map_or(Some(0), parse_integer)?,
        "ready" => score + claim_delay_ms,
        _ => score,
    };
    let fact = Fact {
        visit,
        step,
        step_ms,
        is_over: false,
    };
    Some(StoredEntry { fact, place })
}

/// Parses what `include/visits.lua` stores of an entry: its visit, its step, and a third word if there
/// is one.
fn parse_visit(text: &str) -> Option<(Visit, Step, Option<&str>)> {
    let mut words = text.split(' ');
    let (first, step) = (words.next()?, words.next());
    let Some(step) = step else {
        let place = WaitScore::from_raw(parse_integer(first)?)?;
        return Some((place.visit(), Step::Ready, None));
    };
    Some((
        Visit::new(first.parse().ok()?)?,
        Step::new(step.parse().ok()?)?,
        words.next(),
    ))
}

fn unreadable_entry(set: &str, id: EntryId, score: &str) -> LineError {
    LineError::Protocol(format!(
        "cannot read entry {id} in the sorted set `{set}`, where it has the score {score}"
    ))
}
