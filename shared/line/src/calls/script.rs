//! Reads the Lua scripts and sends them.
//!
//! The header of a script is its interface:
//!
//! | header | lists |
//! | --- | --- |
//! | `-- KEYS:` | the keys that the caller sends |
//! | `-- ARGV:` | the arguments; a last `...` stands for any number of further ones |
//! | `-- include:` | the files of `include/` that are put in front of the script |
//!
//! A line `-- splice: NAME` stands for the statements of a file of `splice/`. They use and set the locals that the file
//! names. A script that a crowd calls has them in place, which saves a function and its call; others call the function of
//! `include/` that has the same statements.

use std::fmt::Display;

use redis::{Cmd, RedisWrite, Script, Value};
use vestibule_domain::id::QueueId;

use super::{Line, connect::Request, keys::Keys, reply::ScriptReply, server_time::with_time};
use crate::LineError;

const INCLUDES: &[(&str, &str)] = &[
    ("absences", include_str!("../../lua/include/absences.lua")),
    (
        "adaptive_pace",
        include_str!("../../lua/include/adaptive_pace.lua"),
    ),
    ("arrivals", include_str!("../../lua/include/arrivals.lua")),
    ("hashes", include_str!("../../lua/include/hashes.lua")),
    ("averages", include_str!("../../lua/include/averages.lua")),
    ("closed_pages", include_str!("../../lua/include/closed_pages.lua")),
    ("dismissals", include_str!("../../lua/include/dismissals.lua")),
    ("entrance", include_str!("../../lua/include/entrance.lua")),
    ("opening", include_str!("../../lua/include/opening.lua")),
    (
        "overlong_waits",
        include_str!("../../lua/include/overlong_waits.lua"),
    ),
    (
        "scheduled_calls",
        include_str!("../../lua/include/scheduled_calls.lua"),
    ),
    ("line", include_str!("../../lua/include/line.lua")),
    ("line_table", include_str!("../../lua/include/line_table.lua")),
    ("clock", include_str!("../../lua/include/clock.lua")),
    ("versions", include_str!("../../lua/include/versions.lua")),
    ("places", include_str!("../../lua/include/places.lua")),
    ("scores", include_str!("../../lua/include/scores.lua")),
    (
        "chosen_entries",
        include_str!("../../lua/include/chosen_entries.lua"),
    ),
    ("claim_clock", include_str!("../../lua/include/claim_clock.lua")),
    ("end", include_str!("../../lua/include/end.lua")),
    ("pace", include_str!("../../lua/include/pace.lua")),
    ("queue", include_str!("../../lua/include/queue.lua")),
    ("new_state", include_str!("../../lua/include/new_state.lua")),
    ("fields", include_str!("../../lua/include/fields.lua")),
    ("visits", include_str!("../../lua/include/visits.lua")),
    ("facts", include_str!("../../lua/include/facts.lua")),
    ("settled", include_str!("../../lua/include/settled.lua")),
    ("imbalance", include_str!("../../lua/include/imbalance.lua")),
    ("words", include_str!("../../lua/include/words.lua")),
    ("journal", include_str!("../../lua/include/journal.lua")),
    ("lanes", include_str!("../../lua/include/lanes.lua")),
    (
        "call_visitors",
        include_str!("../../lua/include/call_visitors.lua"),
    ),
    ("loss", include_str!("../../lua/include/loss.lua")),
    ("marks", include_str!("../../lua/include/marks.lua")),
    ("presence", include_str!("../../lua/include/presence.lua")),
    (
        "presence_tick",
        include_str!("../../lua/include/presence_tick.lua"),
    ),
    (
        "promoted_entries",
        include_str!("../../lua/include/promoted_entries.lua"),
    ),
    ("tally", include_str!("../../lua/include/tally.lua")),
    ("tally_reply", include_str!("../../lua/include/tally_reply.lua")),
    ("timeouts", include_str!("../../lua/include/timeouts.lua")),
];

const SPLICES: &[(&str, &str)] = &[
    ("line_time", include_str!("../../lua/splice/line_time.lua")),
    ("pack_line", include_str!("../../lua/splice/pack_line.lua")),
    ("server_time", include_str!("../../lua/splice/server_time.lua")),
    ("unpack_line", include_str!("../../lua/splice/unpack_line.lua")),
];

/// The size of `EVALSHA`, a hash and a count.
const BYTES_BEFORE_KEYS: usize = 56;
/// The size of most names of keys, and of most arguments. Only the capacity of a buffer depends on them.
const BYTES_PER_NAME: usize = 8;
const BYTES_PER_ARG: usize = 24;

/// Defines a script by its path in `lua`.
macro_rules! script {
    ($name:ident, $path:literal) => {
        pub(super) static $name: std::sync::LazyLock<crate::calls::script::LuaScript> =
            std::sync::LazyLock::new(|| {
                let source = include_str!(concat!("../../lua/", $path, ".lua"));
                crate::calls::script::LuaScript::new($path, source)
            });
    };
}
pub(super) use script;

/// A script, and the names in its header.
pub(super) struct LuaScript {
    name: &'static str,
    script: Script,
    key_names: Vec<&'static str>,
    arg_names: Vec<&'static str>,
}

impl LuaScript {
    /// Reads a script and puts its includes behind the first line. The first line (`#!lua`)
    /// declares the kind of the script, so it must stay first.
    pub(super) fn new(path: &'static str, source: &'static str) -> Self {
        let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (kind, body) = source.split_once('\n').unwrap_or((source, ""));
        let mut code = format!("{kind}\n");
        for wanted in read_header(body, "include") {
            let (_, include) = INCLUDES
                .iter()
                .find(|(name, _)| *name == wanted)
                .expect("every name in the `-- include:` header of a script must be in INCLUDES");
            code.push_str(include);
        }
        code.push_str(body);
        Self {
            name,
            script: Script::new(&splice(&code)),
            key_names: read_header(body, "KEYS"),
            arg_names: read_header(body, "ARGV"),
        }
    }

    /// Begins a call for one queue, with the queue's keys that the header names.
    pub(super) fn call_for_queue<'a>(&'a self, keys: &Keys<'a>) -> ScriptCall<'a> {
        let mut call = self.begin(keys.prefix().len());
        for name in &self.key_names {
            call.command
                .write_arg_fmt(format_args!("{}{name}", keys.prefix()));
        }
        call.queue = Some(keys.queue);
        call
    }

    /// Begins a call with the given keys, which must be as many as the header names.
    pub(super) fn call_with_keys(&self, keys: impl IntoIterator<Item = String>) -> ScriptCall<'_> {
        let mut call = self.begin(0);
        let mut key_count = 0;
        for key in keys {
            call.command.arg(key);
            key_count += 1;
        }
        debug_assert_eq!(
            key_count,
            self.key_names.len(),
            "the caller of script `{}` must send as many keys as its header names",
            self.name
        );
        call
    }

    /// Begins a call. The caller adds the keys, each of them about `key_bytes` longer than its
    /// name. The buffers have room for most calls, because `enter` is a frequent one.
    fn begin(&self, key_bytes: usize) -> ScriptCall<'_> {
        let (keys, args) = (self.key_names.len(), self.arg_names.len());
        let size = BYTES_BEFORE_KEYS + keys * (key_bytes + BYTES_PER_NAME) + args * BYTES_PER_ARG;
        let mut command = Cmd::with_capacity(3 + keys + args, size);
        command.arg("EVALSHA").arg(self.script.get_hash()).arg(keys);
        ScriptCall {
            script: self,
            queue: None,
            command,
            arg_count: 0,
            may_run_twice: false,
        }
    }
}

/// Puts the statements of `splice/` in the place of the lines that name them.
fn splice(code: &str) -> String {
    code.lines().fold(String::new(), |spliced, line| {
        let Some(wanted) = line.trim_start().strip_prefix("-- splice: ") else {
            return spliced + line + "\n";
        };
        let (_, statements) = SPLICES
            .iter()
            .find(|(name, _)| *name == wanted)
            .expect("every name in a `-- splice:` line must be in SPLICES");
        spliced + &splice(statements)
    })
}

fn read_header(body: &'static str, name: &str) -> Vec<&'static str> {
    body.lines()
        .take_while(|line| line.starts_with("--"))
        .find_map(|line| line.strip_prefix("-- ")?.strip_prefix(name)?.strip_prefix(": "))
        .map(|words| words.split_whitespace().collect())
        .unwrap_or_default()
}

impl Line {
    /// Begins a call of a script whose first two arguments are times. The first is the time in
    /// microseconds that a test gives, or empty, so that the script reads the server's clock. The
    /// second is the caller's clock in milliseconds.
    pub(super) fn begin_call<'a>(&self, command: &'a LuaScript, queue: &'a QueueId) -> ScriptCall<'a> {
        command
            .call_for_queue(&Keys::new(queue))
            .arg(self.given_us())
            .arg(self.witness_ms())
    }
}

/// One call of a script.
pub(super) struct ScriptCall<'a> {
    script: &'a LuaScript,
    /// The queue whose round-trip metric counts the call. `None` for the steps of a restore,
    /// because each of them moves thousands of entries and would distort the metric, and for a
    /// script that has no queue.
    queue: Option<&'a QueueId>,
    /// `EVALSHA` with the keys and the arguments so far. They are written straight into its buffer.
    command: Cmd,
    arg_count: usize,
    may_run_twice: bool,
}

impl ScriptCall<'_> {
    /// Adds an argument.
    pub(super) fn arg(mut self, value: impl Display) -> Self {
        self.command.write_arg_fmt(value);
        self.arg_count += 1;
        self
    }

    /// Adds one argument for each value.
    pub(super) fn args(self, values: impl IntoIterator<Item = impl Display>) -> Self {
        values.into_iter().fold(self, Self::arg)
    }

    /// Says that a second run after the first has the effect of one, and an answer that its caller takes for that of the
    /// first. If the connection is cut while the answer is awaited, the call is sent once more.
    pub(super) fn may_run_twice(self) -> Self {
        self.may_run_twice_if(true)
    }

    /// As [`may_run_twice`](Self::may_run_twice), under a condition.
    pub(super) fn may_run_twice_if(mut self, condition: bool) -> Self {
        self.may_run_twice = condition;
        self
    }

    /// Sends the call, and loads the script first if the server does not have it.
    pub(super) async fn send(self, line: &Line) -> Result<ScriptReply, LineError> {
        let names = &self.script.arg_names;
        let is_variadic = names.last() == Some(&"...");
        debug_assert!(
            if is_variadic {
                self.arg_count + 1 >= names.len()
            } else {
                self.arg_count == names.len()
            },
            "the caller of script `{}` must send as many arguments as its header names",
            self.script.name
        );
        let started = line.round_trips.start_measurement();
        let reply = self.invoke(line).await;
        if let Some(queue) = self.queue {
            line.round_trips.record_measurement(queue, started, reply.is_ok());
        }
        reply
    }

    async fn invoke(&self, line: &Line) -> Result<ScriptReply, LineError> {
        let takes_time = self.script.arg_names.first() == Some(&"given_us");
        let given_us = if takes_time {
            line.time_for_script_us().await?
        } else {
            None
        };
        let reply = self.invoke_at(line, given_us).await;
        match &reply {
            Err(error) if takes_time && line.has_refused_time(error) => {
                let given_us = line.time_for_script_us().await?;
                self.invoke_at(line, given_us).await
            }
            _ => reply,
        }
    }

    /// Sends the call with a time that the script uses instead of the server's, or without.
    async fn invoke_at(&self, line: &Line, given_us: Option<u64>) -> Result<ScriptReply, LineError> {
        let timed = given_us.map(|time_us| with_time(&self.command, self.script.key_names.len(), time_us));
        let request = Request::Script {
            name: self.script.name,
            command: timed.as_ref().unwrap_or(&self.command),
            script: &self.script.script,
            may_run_twice: self.may_run_twice,
        };
        let reply: Value = line.connection.send(request).await?;
        ScriptReply::read(self.script.name, reply)
    }
}

#[cfg(test)]
mod tests;
