//! The commands that the scripts and the line's Rust code send.

mod hashes;
// All commands have the type of those that can be refused.
#[allow(clippy::unnecessary_wraps)]
mod keys;
mod scan;
mod sorted_sets;
mod streams;
mod words;

use self::words::Words;
use super::{reply::Outcome, store::Store};

/// What a command may do to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It changes nothing.
    Reads,
    /// It may take memory, so a full server refuses it.
    Adds,
    /// It changes what is there, and takes no memory.
    Frees,
}

/// A command.
pub(crate) struct Command {
    name: &'static str,
    /// The least and the most arguments behind the name.
    args: (usize, usize),
    pub(crate) effect: Effect,
    run: fn(&mut Store, &Words<'_>) -> Outcome,
}

const MANY: usize = usize::MAX;

const fn command(
    name: &'static str,
    args: (usize, usize),
    effect: Effect,
    run: fn(&mut Store, &Words<'_>) -> Outcome,
) -> Command {
    Command {
        name,
        args,
        effect,
        run,
    }
}

use Effect::{Adds, Frees, Reads};

/// All commands, in the order of their names.
pub(crate) const COMMANDS: &[Command] = &[
    command("DEL", (1, MANY), Frees, keys::remove),
    command("EXISTS", (1, MANY), Reads, keys::exists),
    command("EXPIRE", (2, 2), Frees, keys::expire),
    command("GET", (1, 1), Reads, keys::get),
    command("HDEL", (2, MANY), Frees, hashes::remove),
    command("HEXISTS", (2, 2), Reads, hashes::exists),
    command("HGET", (2, 2), Reads, hashes::get),
    command("HGETALL", (1, 1), Reads, hashes::get_all),
    command("HINCRBY", (3, 3), Adds, hashes::increase),
    command("HLEN", (1, 1), Reads, hashes::count),
    command("HMGET", (2, MANY), Reads, hashes::get_many),
    command("HSCAN", (2, 4), Reads, hashes::scan),
    command("HSET", (3, MANY), Adds, hashes::set),
    command("PERSIST", (1, 1), Frees, keys::persist),
    command("PEXPIRE", (2, 2), Frees, keys::expire_ms),
    command("PING", (0, 0), Reads, keys::ping),
    command("RENAME", (2, 2), Frees, keys::rename),
    command("SET", (2, 4), Adds, keys::set),
    command("SPUBLISH", (2, 2), Reads, keys::publish),
    command("TIME", (0, 0), Reads, keys::time),
    command("UNLINK", (1, MANY), Frees, keys::remove),
    command("XADD", (4, MANY), Adds, streams::add),
    command("XDEL", (2, MANY), Frees, streams::remove),
    command("XLEN", (1, 1), Reads, streams::count),
    command("XRANGE", (3, 5), Reads, streams::range),
    command("ZADD", (3, MANY), Adds, sorted_sets::add),
    command("ZCARD", (1, 1), Reads, sorted_sets::count),
    command("ZCOUNT", (3, 3), Reads, sorted_sets::count_scores),
    command("ZMSCORE", (2, MANY), Reads, sorted_sets::scores),
    command("ZRANGE", (3, 4), Reads, sorted_sets::range),
    command("ZRANGEBYSCORE", (3, 7), Reads, sorted_sets::range_by_score),
    command("ZRANK", (2, 3), Reads, sorted_sets::rank),
    command("ZREM", (2, MANY), Frees, sorted_sets::remove),
    command("ZREMRANGEBYRANK", (3, 3), Frees, sorted_sets::remove_ranks),
    command("ZREMRANGEBYSCORE", (3, 3), Frees, sorted_sets::remove_scores),
    command("ZREVRANGE", (3, 4), Reads, sorted_sets::range_backwards),
    command(
        "ZREVRANGEBYSCORE",
        (3, 7),
        Reads,
        sorted_sets::range_by_score_backwards,
    ),
    command("ZSCAN", (2, 4), Reads, sorted_sets::scan),
    command("ZSCORE", (2, 2), Reads, sorted_sets::score),
];

/// The commands that the server answers by itself, or that a client needs for subscriptions.
const SERVER_COMMANDS: &[&str] = &[
    "ACL",
    "CLUSTER",
    "EVALSHA",
    "HELLO",
    "INFO",
    "SCRIPT",
    "SSUBSCRIBE",
    "SUNSUBSCRIBE",
];

/// Whether the server has a command of this name.
pub(crate) fn is_known(name: &str) -> bool {
    SERVER_COMMANDS.contains(&name) || Command::find(name.as_bytes()).is_ok()
}

impl Command {
    /// Finds a command by its name in any case.
    ///
    /// # Errors
    /// The text of a refusal, with the name, if there is none.
    pub(crate) fn find(name: &[u8]) -> Result<&'static Self, String> {
        COMMANDS
            .iter()
            .find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("ERR unknown command '{}'", String::from_utf8_lossy(name)))
    }

    /// Runs the command with the arguments behind its name.
    pub(crate) fn run(&self, store: &mut Store, args: &[&[u8]]) -> Outcome {
        let (least, most) = self.args;
        if args.len() < least || args.len() > most {
            let name = self.name.to_lowercase();
            return Err(format!("ERR wrong number of arguments for '{name}' command"));
        }
        (self.run)(store, &Words(args))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_sorted_and_named_once() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.name < b.name));
    }
}
