//! How a script is read, sent, and its reply taken apart.
//!
//! The header of a script is its interface: `-- KEYS:` names the keys that it is sent, `-- ARGV:` its arguments, `...`
//! standing for any number more, and `-- include:` what of `include/` it is given to work with.

use std::{fmt::Display, vec};

use redis::{Script, Value};

use super::{
    connect::{Connection, failed},
    keys::Keys,
};
use crate::{
    domain::{
        change::Version,
        id::EntryId,
        score::{Visit, WaitScore},
        standing::Standing,
    },
    line::{LineError, Missing},
};

const INCLUDES: [(&str, &str); 8] = [
    ("clock", include_str!("include/clock.lua")),
    ("scores", include_str!("include/scores.lua")),
    ("claim_clock", include_str!("include/claim_clock.lua")),
    ("end", include_str!("include/end.lua")),
    ("pace", include_str!("include/pace.lua")),
    ("queue", include_str!("include/queue.lua")),
    ("new_state", include_str!("include/new_state.lua")),
    ("fields", include_str!("include/fields.lua")),
];

/// A script and what its header says of it.
pub(super) struct Command {
    name: &'static str,
    script: Script,
    keys: Vec<&'static str>,
    args: Vec<&'static str>,
}

impl Command {
    /// Reads a script. Its first line says what kind of script it is and must stay the first.
    pub(super) fn new(name: &'static str, source: &'static str) -> Self {
        let (kind, body) = source.split_once('\n').unwrap_or((source, ""));
        let mut code = format!("{kind}\n");
        for wanted in header(body, "include") {
            let (_, include) = INCLUDES
                .iter()
                .find(|(name, _)| *name == wanted)
                .expect("a test reads every script");
            code.push_str(include);
        }
        code.push_str(body);
        Self {
            name,
            script: Script::new(&code),
            keys: header(body, "KEYS"),
            args: header(body, "ARGV"),
        }
    }

    /// Begins a call for one queue: the keys are those that the header names.
    pub(super) fn of<'a>(&'a self, keys: &Keys) -> Call<'a> {
        self.on(self.keys.iter().map(|name| keys.key(name)))
    }

    /// Begins a call on the given keys, as many as the header names.
    pub(super) fn on(&self, keys: impl IntoIterator<Item = String>) -> Call<'_> {
        let mut invocation = self.script.prepare_invoke();
        let mut given = 0;
        for key in keys {
            invocation.key(key);
            given += 1;
        }
        debug_assert_eq!(given, self.keys.len(), "{} names its keys", self.name);
        Call {
            command: self,
            invocation,
            args: 0,
        }
    }
}

fn header(body: &'static str, name: &str) -> Vec<&'static str> {
    body.lines()
        .take_while(|line| line.starts_with("--"))
        .find_map(|line| line.strip_prefix("-- ")?.strip_prefix(name)?.strip_prefix(": "))
        .map(|words| words.split_whitespace().collect())
        .unwrap_or_default()
}

/// One call of a script.
pub(super) struct Call<'a> {
    command: &'a Command,
    invocation: redis::ScriptInvocation<'a>,
    args: usize,
}

impl Call<'_> {
    /// Adds an argument.
    pub(super) fn arg(mut self, value: impl Display) -> Self {
        self.invocation.arg(value.to_string());
        self.args += 1;
        self
    }

    /// Adds one for each.
    pub(super) fn args(self, values: impl IntoIterator<Item = impl Display>) -> Self {
        values.into_iter().fold(self, Self::arg)
    }

    /// Sends it, loading the script where the server does not have it.
    pub(super) async fn send(self, connection: &Connection) -> Result<Reply, LineError> {
        let names = &self.command.args;
        let open = names.last() == Some(&"...");
        debug_assert!(
            if open {
                self.args + 1 >= names.len()
            } else {
                self.args == names.len()
            },
            "{} names its arguments",
            self.command.name
        );
        let mut link = connection.link().await?;
        let values: Vec<Value> = self.invocation.invoke_async(&mut link).await.map_err(failed)?;
        let mut reply = Reply {
            of: self.command.name,
            outcome: String::new(),
            values: values.into_iter(),
        };
        reply.outcome = reply.word()?;
        if reply.outcome == "no-queue" {
            return Err(LineError::Unknown);
        }
        Ok(reply)
    }
}

/// The reply of a script, read value by value.
pub(super) struct Reply {
    of: &'static str,
    outcome: String,
    values: vec::IntoIter<Value>,
}

impl Reply {
    /// The word that every reply begins with.
    pub(super) fn outcome(&self) -> &str {
        &self.outcome
    }

    /// A word or a text.
    pub(super) fn word(&mut self) -> Result<String, LineError> {
        let value = self.next()?;
        redis::from_redis_value(value).map_err(|_| self.nonsense("a word"))
    }

    /// A whole number.
    pub(super) fn number(&mut self) -> Result<u64, LineError> {
        let value = self.next()?;
        redis::from_redis_value(value).map_err(|_| self.nonsense("a number"))
    }

    /// A list of field, value, field, value.
    pub(super) fn fields(&mut self) -> Result<Fields, LineError> {
        let value = self.next()?;
        let fields = redis::from_redis_value(value).map_err(|_| self.nonsense("fields"))?;
        Ok(Fields { of: self.of, fields })
    }

    /// Where an entry stands: state, score or visit, position or deadline, line time.
    pub(super) fn standing(&mut self) -> Result<Standing, LineError> {
        Ok(self.standing_at()?.0)
    }

    /// The same, with the line time also of one that waits.
    pub(super) fn standing_at(&mut self) -> Result<(Standing, u64), LineError> {
        let (state, first, second, now_ms) = (self.word()?, self.number()?, self.number()?, self.number()?);
        let visit = || Visit::new(first).ok_or_else(|| self.nonsense("a visit"));
        let standing = match state.as_str() {
            "waiting" => Standing::Waiting {
                score: self.score_of(first)?,
                position: second,
            },
            "ready" => Standing::Ready {
                visit: visit()?,
                claim_by_ms: second,
                now_ms,
            },
            "active" => Standing::Active {
                visit: visit()?,
                session_end_ms: second,
                now_ms,
            },
            _ => return Err(self.nonsense("a state")),
        };
        Ok((standing, now_ms))
    }

    /// Why an entry stands nowhere.
    pub(super) fn missing(&mut self) -> Result<Missing, LineError> {
        match self.word()?.as_str() {
            "ended" => Ok(Missing::Ended),
            "unknown" => Ok(Missing::Unknown),
            _ => Err(self.nonsense("why it is gone")),
        }
    }

    /// A visit.
    pub(super) fn visit(&mut self) -> Result<Visit, LineError> {
        let number = self.number()?;
        Visit::new(number).ok_or_else(|| self.nonsense("a visit"))
    }

    /// A place.
    pub(super) fn score(&mut self) -> Result<WaitScore, LineError> {
        let raw = self.number()?;
        self.score_of(raw)
    }

    /// The version of a change; `None` where nothing changed.
    pub(super) fn version(&mut self) -> Result<Option<Version>, LineError> {
        let (epoch, v) = (self.number()?, self.number()?);
        let epoch = u32::try_from(epoch).map_err(|_| self.nonsense("an epoch"))?;
        Ok((v > 0).then_some(Version { epoch, v }))
    }

    /// The error for a reply that is none of those that the header lists.
    pub(super) fn nonsense(&self, wanted: &str) -> LineError {
        LineError::Nonsense(format!("the reply of {} lacks {wanted}", self.of))
    }

    fn score_of(&self, raw: u64) -> Result<WaitScore, LineError> {
        WaitScore::from_raw(raw).ok_or_else(|| self.nonsense("a score"))
    }

    fn next(&mut self) -> Result<Value, LineError> {
        self.values.next().ok_or_else(|| self.nonsense("a value"))
    }
}

/// The fields of a hash or of a journal record.
pub(super) struct Fields {
    of: &'static str,
    fields: std::collections::HashMap<String, String>,
}

impl Fields {
    pub(super) fn new(of: &'static str, fields: std::collections::HashMap<String, String>) -> Self {
        Self { of, fields }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, LineError> {
        let missing = || LineError::Nonsense(format!("{} has no field {name}", self.of));
        self.fields.get(name).map(String::as_str).ok_or_else(missing)
    }

    /// A whole number, as Redis may write one that went through a double: `1.7e+15`.
    pub(super) fn number<T: TryFrom<u64>>(&self, name: &str) -> Result<T, LineError> {
        whole(self.text(name)?)
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| LineError::Nonsense(format!("{} has no number in field {name}", self.of)))
    }
}

/// A whole number below 2^53, in digits or as a double writes it.
pub(super) fn whole(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let double: f64 = text.parse().ok()?;
    // The guard makes the cast exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    ((0.0..9_007_199_254_740_992.0).contains(&double) && double.fract() == 0.0).then_some(double as u64)
}

/// Reads members as entry ids.
pub(super) fn entry_id(member: &str) -> Result<EntryId, LineError> {
    EntryId::from_member(member).map_err(|error| LineError::Nonsense(format!("{member}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPTS: [&str; 12] = [
        include_str!("claim.lua"),
        include_str!("configure.lua"),
        include_str!("enter.lua"),
        include_str!("leave.lua"),
        include_str!("promote.lua"),
        include_str!("record.lua"),
        include_str!("restore.lua"),
        include_str!("settle.lua"),
        include_str!("stage.lua"),
        include_str!("status.lua"),
        include_str!("validate.lua"),
        include_str!("view.lua"),
    ];

    /// The names that a script gives to `KEYS` or `ARGV`, in order.
    fn locals(source: &str, table: &str) -> Vec<String> {
        let mut names = Vec::new();
        for line in source.lines().filter(|line| line.starts_with("local ")) {
            let Some((left, right)) = line.trim_start_matches("local ").split_once(" = ") else {
                continue;
            };
            for (name, value) in left.split(", ").zip(right.split(", ")) {
                let number = value.trim_start_matches("tonumber(").trim_end_matches(')');
                if number == format!("{table}[{}]", names.len() + 1) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    #[test]
    fn every_header_says_what_its_script_takes() {
        for source in SCRIPTS {
            assert!(
                source.starts_with("#!lua"),
                "the first line lets a cluster refuse a foreign key"
            );
            let body = source.split_once('\n').expect("more than one line").1;
            assert_eq!(header(body, "KEYS"), locals(source, "KEYS"), "{source}");
            let args: Vec<_> = header(body, "ARGV")
                .into_iter()
                .filter(|name| *name != "...")
                .collect();
            assert_eq!(args, locals(source, "ARGV"), "{source}");
            assert!(body.contains("-- Output: {'"), "{source}");
            for include in header(body, "include") {
                assert!(INCLUDES.iter().any(|(name, _)| *name == include), "{include}");
            }
        }
    }

    #[test]
    fn whole_numbers_are_read_as_redis_writes_them() {
        assert_eq!(whole("736949953421312"), Some(736_949_953_421_312));
        assert_eq!(whole("1.7e+15"), Some(1_700_000_000_000_000));
        for none in ["", "x", "-1", "0.5", "1e16", "nan"] {
            assert_eq!(whole(none), None, "{none}");
        }
    }
}
