//! Prepares a sorted set or hash for a restore under a name of its own. Plain commands are enough,
//! because no other process reads the key yet.

use futures_util::{StreamExt, TryStreamExt, stream};
use redis::{Cmd, Pipeline, cmd};
use vestibule_domain::{end_reason::EndReason, fact::Step, id::EntryId, score::Visit};

use super::{Line, connect::Request};
use crate::LineError;

/// The number of entries in one command. Redis serves no other command meanwhile, so this bounds
/// the wait of other callers.
const ENTRIES_PER_COMMAND: usize = 1_000;
/// The number of such commands in one message.
const COMMANDS_PER_MESSAGE: usize = 4;
/// The number of messages in flight. The server works on one while this process builds the next.
const MESSAGES_IN_FLIGHT: usize = 2;
/// The time to live of a staged key. Redis deletes the key if its restore dies.
const STAGED_TTL_SECONDS: u64 = 600;

/// What the hash `visits` is to have of an entry behind the visit and the step.
#[derive(Debug, Clone, Copy)]
pub(super) enum StagedMark {
    /// Nothing.
    None,
    /// How the visit ended, whose slot is held.
    Ended(EndReason),
    /// When an operator moved the waiting entry to another lane, or when the session of the active one began, in Unix
    /// milliseconds.
    At(u64),
}

/// The visit of an entry, its step, and what follows.
pub(super) type StagedVisit = (Visit, Step, StagedMark, EntryId);

/// Adds entries with their scores to a staged set. It sorts them first, because Redis adds sorted
/// entries fastest.
pub(super) async fn stage_entries(
    line: &Line,
    staged: &str,
    mut entries: Vec<(u64, EntryId)>,
) -> Result<(), LineError> {
    entries.sort_unstable();
    stage(line, "ZADD", staged, &entries, |add, (score, id)| {
        add.arg(*score).arg(id.to_member());
    })
    .await
}

/// Adds the visits of entries to a staged hash, in the form that `include/visits.lua` reads.
pub(super) async fn stage_visits(line: &Line, staged: &str, visits: &[StagedVisit]) -> Result<(), LineError> {
    stage(line, "HSET", staged, visits, |set, (visit, step, mark, id)| {
        let mark = match mark {
            StagedMark::None => String::new(),
            StagedMark::Ended(how) => format!(" {}", how.name()),
            StagedMark::At(ms) => format!(" {ms}"),
        };
        let text = format!("{} {}{mark}", visit.number(), step.number());
        set.arg(id.to_member()).arg(text);
    })
    .await
}

async fn stage<T>(
    line: &Line,
    name: &str,
    staged: &str,
    entries: &[T],
    add_args: impl Fn(&mut Cmd, &T) + Copy,
) -> Result<(), LineError> {
    // These futures are lazy: a message is built when it is sent. All messages together would need
    // many times the memory of the entries.
    let messages: Vec<_> = entries
        .chunks(ENTRIES_PER_COMMAND * COMMANDS_PER_MESSAGE)
        .map(|entries| async move {
            let message = build_message(name, staged, entries, add_args);
            line.connection.send::<()>(Request::Pipeline(&message)).await
        })
        .collect();
    stream::iter(messages)
        .buffered(MESSAGES_IN_FLIGHT)
        .try_collect()
        .await
}

fn build_message<T>(name: &str, staged: &str, entries: &[T], add_args: impl Fn(&mut Cmd, &T)) -> Pipeline {
    let mut message = Pipeline::with_capacity(COMMANDS_PER_MESSAGE + 1);
    for chunk in entries.chunks(ENTRIES_PER_COMMAND) {
        let mut command = cmd(name);
        command.arg(staged);
        for entry in chunk {
            add_args(&mut command, entry);
        }
        message.add_command(command).ignore();
    }
    message.cmd("EXPIRE").arg(staged).arg(STAGED_TTL_SECONDS).ignore();
    message
}
