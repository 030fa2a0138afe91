//! The keys as a list of commands in the protocol of Redis, so that `redis-cli --pipe` takes them, too.

use redis::{Cmd, Parser, Value, cmd};

use super::{
    commands::Command,
    store::{Key, Store, Stored},
    stream::Stream,
};

/// The most fields or members in one command.
const CHUNK: usize = 1_000;

/// Why saved keys are not loaded. The server has none of them then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// They were saved under this label.
    #[error("the keys were saved as `{0}`")]
    OtherLabel(String),
    /// They are not what [`EmbeddedServer::stop`](crate::EmbeddedServer::stop) returned.
    #[error("the saved keys are unreadable: {0}")]
    Unreadable(String),
}

/// Writes the commands that make all keys, behind one that names the label, and an end by which a part of a file is known.
pub(crate) fn save(store: &Store, label: &str) -> Vec<u8> {
    let mut saved = cmd("ECHO").arg(label).get_packed_command();
    for (key, stored, end_ms) in store.sorted_keys() {
        for command in commands_for(key, stored) {
            command.write_packed_command(&mut saved);
        }
        if let Some(end_ms) = end_ms {
            cmd("PEXPIREAT")
                .arg(key)
                .arg(end_ms)
                .write_packed_command(&mut saved);
        }
    }
    cmd("ECHO").arg(label).write_packed_command(&mut saved);
    saved
}

/// Reads what [`save`] wrote.
pub(crate) fn load(mut saved: &[u8], label: &str, now_us: u64) -> Result<Store, LoadError> {
    let mut store = Store::default();
    store.set_time(now_us);
    // The parser may take more bytes than those of one command, and keeps them.
    let (mut labels, mut parser) = (0, Parser::new());
    loop {
        let command = match parser.parse_value(&mut saved) {
            Ok(command) => command,
            Err(_) if labels == 2 => return Ok(store),
            Err(error) => return Err(unreadable(error)),
        };
        let words: Vec<Vec<u8>> = redis::from_redis_value(command).map_err(unreadable)?;
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        match words[..] {
            [b"ECHO", found] if found == label.as_bytes() => labels += 1,
            [b"ECHO", found] => {
                return Err(LoadError::OtherLabel(String::from_utf8_lossy(found).into_owned()));
            }
            _ if labels != 1 => return Err(unreadable("a command outside the labels")),
            [b"PEXPIREAT", key, end_ms] => {
                let end_ms = str::from_utf8(end_ms).ok().and_then(|text| text.parse().ok());
                store.end_at(key, end_ms.ok_or_else(|| unreadable("a time that is no number"))?);
            }
            [name, ref args @ ..] => {
                let run = Command::find(name).and_then(|command| command.run(&mut store, args));
                if let Value::ServerError(error) = run.map_err(unreadable)? {
                    return Err(unreadable(format!("{error:?}")));
                }
            }
            [] => return Err(unreadable("an empty command")),
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(unreadable)`.
fn unreadable(why: impl ToString) -> LoadError {
    LoadError::Unreadable(why.to_string())
}

fn commands_for(key: &Key, stored: &Stored) -> Vec<Cmd> {
    let command = |name: &str| {
        let mut command = cmd(name);
        command.arg(key);
        command
    };
    match stored {
        Stored::Text(text) => {
            let mut set = command("SET");
            set.arg(text);
            vec![set]
        }
        Stored::Hash(hash) => {
            let fields: Vec<_> = hash.iter().collect();
            let chunks = fields.chunks(CHUNK).map(|fields| {
                let mut set = command("HSET");
                for (field, value) in fields {
                    set.arg(field).arg(value);
                }
                set
            });
            chunks.collect()
        }
        Stored::SortedSet(set) => {
            let members: Vec<_> = set.members(0..set.len()).collect();
            let chunks = members.chunks(CHUNK).map(|members| {
                let mut add = command("ZADD");
                for (member, score) in members {
                    add.arg(score.to_string()).arg(member);
                }
                add
            });
            chunks.collect()
        }
        Stored::Stream(stream) => commands_for_stream(&command, stream),
    }
}

fn commands_for_stream(command: &dyn Fn(&str) -> Cmd, stream: &Stream) -> Vec<Cmd> {
    let mut commands = Vec::new();
    let mut last = None;
    for (id, values) in stream.all() {
        let mut add = command("XADD");
        add.arg(id.to_string()).arg(values);
        commands.push(add);
        last = Some(id);
    }
    // Later records get ids above those that were removed.
    if last != Some(stream.last()) && !stream.is_new() {
        let id = stream.last().to_string();
        let (mut add, mut remove) = (command("XADD"), command("XDEL"));
        add.arg(&id).arg("removed").arg("");
        remove.arg(&id);
        commands.extend([add, remove]);
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: u64 = 1_800_000_000_000_000;

    fn run(store: &mut Store, words: &[&[u8]]) -> Value {
        let command = Command::find(words[0]).expect("a command");
        command.run(store, &words[1..]).expect("an answer")
    }

    fn full_store() -> Store {
        let mut store = Store::default();
        store.set_time(NOW_US);
        for words in [
            &[&b"SET"[..], b"text", b"\x00\xff\r\n"][..],
            &[b"SET", b"short", b"1", b"PX", b"500"],
            &[b"HSET", b"hash", b"a", b"", b"b", b"\x80"],
            &[
                b"ZADD",
                b"set",
                b"1.5",
                b"m",
                b"-9007199254740991",
                b"n",
                b"inf",
                b"o",
            ],
            &[b"XADD", b"stream", b"1-5", b"name", b"value"],
            &[b"XADD", b"stream", b"9-1", b"name", b"value"],
            &[b"XDEL", b"stream", b"9-1"],
        ] {
            run(&mut store, words);
        }
        store
    }

    #[test]
    fn loaded_keys_are_the_saved_ones() {
        let saved = save(&full_store(), "now");
        let mut loaded = load(&saved, "now", NOW_US).expect("readable");
        assert_eq!(save(&loaded, "now"), saved, "{}", String::from_utf8_lossy(&saved));
        loaded.set_time(NOW_US + 500_000);
        assert!(!loaded.contains(b"short"), "a key ends at its time");
        let next = run(&mut loaded, &[b"XADD", b"stream", b"9-2", b"name", b"value"]);
        assert_eq!(
            next,
            Value::BulkString(b"9-2".to_vec()),
            "above the removed record"
        );
    }

    #[test]
    fn what_is_not_whole_or_not_expected_is_refused() {
        let saved = save(&full_store(), "now");
        let other = load(&saved, "then", NOW_US).err();
        assert_eq!(other, Some(LoadError::OtherLabel("now".to_owned())));
        for length in 0..saved.len() {
            let cut = load(&saved[..length], "now", NOW_US).err();
            assert!(matches!(cut, Some(LoadError::Unreadable(_))), "{length}: {cut:?}");
        }
        let twice = [
            saved.as_slice(),
            &cmd("SET").arg("a").arg("b").get_packed_command(),
        ]
        .concat();
        assert!(load(&twice, "now", NOW_US).is_err());
    }
}
