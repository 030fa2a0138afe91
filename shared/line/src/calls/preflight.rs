//! Asks the server whether it gives what the line needs: sends `preflight.lua`, and receives the message that it publishes.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use vestibule_domain::id::QueueId;

use super::{Line, connect::Request, keys::Keys, script::script, server_memory::read_server_memory};
use crate::{COMMAND_WORDS_MAX, LineError, ScriptAnswers, ServerAnswers, ServerLogin, TickSubscription};

script!(PREFLIGHT, "recovery/preflight");

/// The queue whose keys and channel the script names. It does not exist, because the keys are never written.
const QUEUE: &str = "vestibule.preflight";
/// The words of a call before the commands: `EVALSHA`, a hash, a count, two keys and the message.
const WORDS_BEFORE_COMMANDS: usize = 6;
/// How long a published message may take.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Every command that scripts and this crate send, with arguments of the right number. `INFO` is left out, because a
/// line works without it.
const COMMANDS: &[&str] = &[
    "ACL WHOAMI",
    "CLUSTER SLOTS",
    "DEL KEY",
    "EVALSHA hash 0",
    "EXISTS KEY",
    "EXPIRE KEY 1",
    "GET KEY",
    "HDEL KEY f",
    "HELLO 3",
    "HEXISTS KEY f",
    "HGET KEY f",
    "HGETALL KEY",
    "HINCRBY KEY f 1",
    "HLEN KEY",
    "HMGET KEY f",
    "HSCAN KEY 0",
    "HSET KEY f v",
    "PERSIST KEY",
    "PEXPIRE KEY 1",
    "PING",
    "RENAME KEY KEY",
    "SCRIPT LOAD code",
    "SET KEY v",
    "SPUBLISH CHANNEL m",
    "SSUBSCRIBE CHANNEL",
    "SUNSUBSCRIBE CHANNEL",
    "TIME",
    "UNLINK KEY",
    "XADD KEY * f v",
    "XDEL KEY 0-1",
    "XLEN KEY",
    "XRANGE KEY - +",
    "ZADD KEY 1 m",
    "ZCARD KEY",
    "ZCOUNT KEY 0 1",
    "ZMSCORE KEY m",
    "ZRANGE KEY 0 1",
    "ZRANGEBYSCORE KEY 0 1",
    "ZRANK KEY m",
    "ZREM KEY m",
    "ZREMRANGEBYRANK KEY 0 1",
    "ZREMRANGEBYSCORE KEY 0 1",
    "ZREVRANGE KEY 0 1",
    "ZREVRANGEBYSCORE KEY 1 0",
    "ZSCAN KEY 0",
    "ZSCORE KEY m",
];

impl Line {
    /// Asks the server. It changes no data. Returns `None` if the line has no server.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the server does not answer. What the server refuses is no error but an answer.
    // The name of its queue is valid.
    #[allow(clippy::missing_panics_doc)]
    pub async fn ask_server(&self) -> Result<Option<ServerAnswers>, LineError> {
        let queue: QueueId = QUEUE.parse().expect("the name is a valid queue id");
        let keys = Keys::new(&queue);
        // The subscription opens a connection of its own, which logs in anew.
        let subscribed = self.connection.subscribe(keys.key("changes")).await;
        let number = u64::from(rand::random::<u32>());
        let script = refusal_as_answer(ask_by_script(self, &keys, number).await)?;
        let subscription = match subscribed {
            Ok(ticks) => await_message(ticks, number).await,
            Err(error) => Err(error.to_string()),
        };
        Ok(Some(ServerAnswers {
            login: if self.connection.logs_in_by_iam() {
                ServerLogin::Iam
            } else {
                ServerLogin::Address
            },
            user: read_user(self).await?,
            script,
            long_command: refusal_as_answer(send_long_command(self, &keys).await)?,
            subscription,
            eviction: self.eviction_policy().await?,
            memory: read_server_memory(self).await?,
        }))
    }
}

async fn ask_by_script(line: &Line, keys: &Keys<'_>, number: u64) -> Result<ScriptAnswers, LineError> {
    let call = PREFLIGHT.call_with_keys([keys.key("config"), keys.key("changes")]);
    // The message has the form of a tick, whose version is the number.
    let call = call.arg(format_args!("1 1 {number} 1 1")).args(COMMANDS);
    let mut reply = call.send(line).await?;
    let (version, time_refusal) = (reply.read_text()?, reply.read_text()?);
    let (tells_rights, refused) = (reply.read_number()? == 1, reply.read_texts()?);
    Ok(ScriptAnswers {
        version: version.trim_end().to_owned(),
        time: if time_refusal.is_empty() {
            Ok(())
        } else {
            Err(time_refusal)
        },
        refused_commands: tells_rights.then(|| refused.iter().map(|command| name_of(command)).collect()),
    })
}

/// Sends a call of [`COMMAND_WORDS_MAX`] words.
async fn send_long_command(line: &Line, keys: &Keys<'_>) -> Result<(), LineError> {
    let call = PREFLIGHT.call_with_keys([keys.key("config"), keys.key("changes")]);
    let padding = std::iter::repeat_n("", COMMAND_WORDS_MAX - WORDS_BEFORE_COMMANDS);
    call.arg("").args(padding).send(line).await.map(drop)
}

/// Takes what the server refuses as an answer, and passes on that it does not answer.
fn refusal_as_answer<T>(reply: Result<T, LineError>) -> Result<Result<T, String>, LineError> {
    match reply {
        Ok(reply) => Ok(Ok(reply)),
        Err(LineError::Protocol(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

async fn await_message(mut ticks: TickSubscription, number: u64) -> Result<(), String> {
    let until = Instant::now() + MESSAGE_TIMEOUT;
    loop {
        match timeout_at(until, ticks.next()).await {
            Ok(Some(tick)) if tick.version.v == number => return Ok(()),
            // Another preflight runs at the same time.
            Ok(Some(_)) => {}
            Ok(None) => return Err("the connection of the subscription broke".to_owned()),
            Err(_) => {
                let seconds = MESSAGE_TIMEOUT.as_secs();
                return Err(format!(
                    "a message that a script published did not arrive within {seconds} s"
                ));
            }
        }
    }
}

/// The user of the connection. `None` if the server does not say.
async fn read_user(line: &Line) -> Result<Option<String>, LineError> {
    let mut who = redis::cmd("ACL");
    who.arg("WHOAMI");
    let answer = line.connection.send(Request::Command(&who)).await;
    Ok(refusal_as_answer(answer)?.ok())
}

/// The command without its arguments. Some commands are two words.
fn name_of(command: &str) -> String {
    let mut words = command.split(' ');
    match (words.next().unwrap_or_default(), words.next()) {
        (first @ ("ACL" | "CLUSTER" | "SCRIPT"), Some(second)) => format!("{first} {second}"),
        (first, _) => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use regex_lite::Regex;

    use super::*;

    /// The commands that the files of a folder send by these patterns, which capture the name.
    fn find_commands(folder: &Path, patterns: &[Regex], found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                find_commands(&path, patterns, found);
                continue;
            }
            let source = fs::read_to_string(&path).expect("a text");
            let matches = patterns.iter().flat_map(|pattern| pattern.captures_iter(&source));
            found.extend(matches.map(|captures| captures[1].to_owned()));
        }
    }

    /// What a script or this crate sends. A script writes commands and options in capitals, and may choose one of several.
    fn sent_commands() -> BTreeSet<String> {
        let patterns = [
            r"'([A-Z]{3,})'",
            r#"cmd\("([A-Z]+)"\)"#,
            r#"name: "([A-Z]+)""#,
            r#"&\["([A-Z]{3,})""#,
        ];
        let patterns = patterns.map(|pattern| Regex::new(pattern).expect("a pattern"));
        let mut sent = BTreeSet::new();
        for folder in ["src", "lua"] {
            let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            find_commands(&sources, &patterns, &mut sent);
        }
        for option in ["COUNT", "LIMIT", "WITHSCORES"] {
            assert!(sent.remove(option), "no script sends {option}");
        }
        assert!(sent.len() > 35, "{sent:?}");
        sent
    }

    #[test]
    fn preflight_asks_for_every_command_of_the_line() {
        let asked: BTreeSet<_> = COMMANDS
            .iter()
            .filter_map(|command| Some(command.split(' ').next()?.to_owned()))
            .collect();
        let sent = sent_commands();
        let missing: Vec<_> = sent.difference(&asked).filter(|name| *name != "INFO").collect();
        assert!(missing.is_empty(), "no preflight asks for {missing:?}");
    }

    #[cfg(feature = "embedded")]
    #[test]
    fn embedded_server_knows_every_command_of_the_line() {
        let unknown: Vec<_> = sent_commands()
            .into_iter()
            .filter(|name| !crate::EmbeddedServer::knows(name))
            .collect();
        assert!(
            unknown.is_empty(),
            "the embedded server does not know {unknown:?}"
        );
    }
}
