//! Asks a server once more what the embedded server was asked, and compares the answers and the keys.

use std::{cell::RefCell, collections::BTreeMap, fmt};

use redis::{Arg, Cmd, Value, aio::ConnectionLike};
use vestibule_domain::id::QueueId;
use vestibule_tests::lines::{Backend, RawLink, embedded_server};

/// How many calls are sent at once.
const CALLS_PER_PIPELINE: usize = 1_000;
/// Ids of records are times of the server. Behind a record of the year 2255, they are numbers in sequence.
const FUTURE_RECORD: &str = "9000000000000-0";
const STREAMS: [&str; 2] = ["journal", "dead_letters"];
const SORTED_SETS: [&str; 9] = [
    "waiting", "ready", "active", "held", "present", "seen", "closing", "settled", "deferred",
];
const HASHES: [&str; 8] = [
    "visits",
    "ended",
    "journaled",
    "config",
    "state",
    "lost",
    "tombstone",
    "tally",
];

/// The calls that were replayed, by script.
#[derive(Default)]
pub(crate) struct Replayed {
    /// The sources of the scripts by their hash.
    scripts: RefCell<BTreeMap<String, String>>,
    calls: RefCell<BTreeMap<String, u64>>,
}

impl Replayed {
    /// Begins to record, with a queue whose streams go on with the same ids on both servers.
    pub(crate) async fn begin(&self, server: Backend, queue: &QueueId) {
        self.keep_scripts(&embedded_server().take_recorded());
        for mut link in links(server, queue).await {
            for stream in STREAMS {
                let key = key(queue, stream);
                let mut streams = redis::pipe();
                streams
                    .cmd("XADD")
                    .arg(&key)
                    .arg(FUTURE_RECORD)
                    .arg("name")
                    .arg("value");
                streams.cmd("XDEL").arg(&key).arg(FUTURE_RECORD);
                streams.exec_async(&mut link).await.expect("the stream begins");
            }
        }
        let _ = embedded_server().take_recorded();
    }

    /// Replays what was recorded. Returns what differs.
    pub(crate) async fn compare(&self, server: Backend, queue: &QueueId) -> Result<(), String> {
        let recorded = embedded_server().take_recorded();
        self.keep_scripts(&recorded);
        let [_, mut link] = links(server, queue).await;
        let mut load = redis::pipe();
        for source in self.scripts.borrow().values() {
            load.cmd("SCRIPT").arg("LOAD").arg(source);
        }
        load.exec_async(&mut link).await.expect("the scripts are loaded");
        // The held polls of a deployment are in another slot.
        let in_slot = |command: &Cmd| {
            server != Backend::Cluster || !words(command).any(|word| word.starts_with(b"vestibule:holds:"))
        };
        let calls: Vec<_> = recorded
            .iter()
            .filter(|(command, answer)| {
                words(command).next() != Some(b"SCRIPT") && !lacked_script(answer) && in_slot(command)
            })
            .collect();
        for calls in calls.chunks(CALLS_PER_PIPELINE) {
            let mut pipeline = redis::pipe();
            for (command, _) in calls {
                pipeline.add_command(command.clone());
            }
            let answers = link.req_packed_commands(&pipeline, 0, calls.len()).await;
            for ((command, embedded), answer) in calls.iter().zip(answers.expect("the server answers")) {
                // Redis has `ZRANK … WITHSCORE` since 7.2, and the line does without it.
                if is_error(&answer) && words(command).next() == Some(b"ZRANK") {
                    continue;
                }
                self.count(command);
                if !is_same(embedded, &answer) {
                    let words: Vec<_> = words(command).map(String::from_utf8_lossy).collect();
                    return Err(format!(
                        "{words:?}\n  embedded: {embedded:?}\n  {server:?}: {answer:?}"
                    ));
                }
            }
        }
        compare_keys(server, queue).await
    }

    fn keep_scripts(&self, recorded: &[(Cmd, Value)]) {
        for (command, hash) in recorded {
            let words: Vec<_> = words(command).collect();
            if let ([b"SCRIPT", b"LOAD", source], Value::BulkString(hash)) = (words.as_slice(), hash) {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                self.scripts.borrow_mut().insert(text(hash), text(source));
            }
        }
    }

    fn count(&self, command: &Cmd) {
        let mut words = words(command);
        let name = words.next().map(String::from_utf8_lossy).unwrap_or_default();
        let hash = words.next().map(String::from_utf8_lossy).unwrap_or_default();
        let scripts = self.scripts.borrow();
        let source = scripts.get(hash.as_ref()).map_or("", String::as_str);
        let name = purpose(source).map_or(name.into_owned(), str::to_owned);
        *self.calls.borrow_mut().entry(name).or_default() += 1;
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.calls.borrow();
        for (name, count) in calls.iter() {
            writeln!(f, "{count:>10}  {name}")?;
        }
        write!(
            f,
            "{:>10}  calls, of {} scripts",
            calls.values().sum::<u64>(),
            self.scripts.borrow().len()
        )
    }
}

/// What a script does, in the words of its header.
fn purpose(source: &str) -> Option<&str> {
    let (before, _) = source.split_once("-- KEYS:")?;
    let lines = before.lines().rev();
    lines
        .map_while(|line| line.strip_prefix("-- "))
        .filter(|line| !line.starts_with("include:"))
        .last()
}

/// A link to the embedded server and one to the other server.
async fn links(server: Backend, queue: &QueueId) -> [RawLink; 2] {
    [
        Backend::Embedded.raw_link(queue).await,
        server.raw_link(queue).await,
    ]
}

fn key(queue: &QueueId, name: &str) -> String {
    format!("vestibule:{{{queue}}}:{name}")
}

fn words(command: &Cmd) -> impl Iterator<Item = &[u8]> {
    command.args_iter().map(|word| match word {
        Arg::Simple(word) => word,
        _ => b"0",
    })
}

/// Whether a call came before its script. The client has loaded it then, and called once more.
fn lacked_script(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.code() == "NOSCRIPT")
}

fn is_error(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(_))
}

/// Whether both servers refuse, or their answers are the same but for the order of the fields of a hash, also within a text
/// of JSON.
fn is_same(one: &Value, other: &Value) -> bool {
    one == other || (is_error(one) && is_error(other)) || to_sorted(one) == to_sorted(other)
}

/// The answer as a text that is the same for each order of fields.
fn to_sorted(answer: &Value) -> String {
    match answer {
        Value::Array(answers) => match answers.as_slice() {
            // A page: entries with their scores, and in the same order what else is known of each.
            [
                Value::BulkString(outcome),
                cursor,
                Value::Array(pairs),
                Value::Array(marks),
                rest @ ..,
            ] if outcome == b"page" && pairs.len() == 2 * marks.len() => {
                let entries = pairs.chunks(2).zip(marks);
                let mut entries: Vec<_> = entries.map(|(pair, mark)| format!("{pair:?} {mark:?}")).collect();
                entries.sort();
                format!("{cursor:?} {entries:?} {rest:?}")
            }
            words if words.len().is_multiple_of(2) && words.iter().all(is_text) => {
                format!("{:?}", sort_pairs(words))
            }
            answers => format!("{:?}", answers.iter().map(to_sorted).collect::<Vec<_>>()),
        },
        Value::BulkString(text) => match read_json(text) {
            Some(values) => to_sorted(&values),
            None => format!("{answer:?}"),
        },
        _ => format!("{answer:?}"),
    }
}

fn is_text(answer: &Value) -> bool {
    matches!(answer, Value::BulkString(_))
}

/// Fields and their values, in an order that does not depend on the server.
pub(crate) fn sort_pairs(words: &[Value]) -> Value {
    let mut pairs: Vec<_> = words.chunks(2).map(|pair| format!("{pair:?}")).collect();
    pairs.sort();
    Value::Array(pairs.into_iter().map(Value::SimpleString).collect())
}

/// A list in JSON, and the time that may precede it.
fn read_json(text: &[u8]) -> Option<Value> {
    let text = str::from_utf8(text).ok()?;
    let (time, list) = text.split_at(text.find('[')?);
    let is_time = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ');
    let list = serde_json::from_str(list).ok()?;
    is_time.then(|| Value::Array(vec![Value::SimpleString(time.to_owned()), from_json(list)]))
}

fn from_json(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Array(values) => Value::Array(values.into_iter().map(from_json).collect()),
        other => Value::BulkString(other.to_string().into_bytes()),
    }
}

/// Compares all keys of a queue.
async fn compare_keys(server: Backend, queue: &QueueId) -> Result<(), String> {
    let mut reads = redis::pipe();
    for name in SORTED_SETS {
        reads
            .cmd("ZRANGE")
            .arg(key(queue, name))
            .arg(0)
            .arg(-1)
            .arg("WITHSCORES");
    }
    for name in HASHES {
        reads.cmd("HGETALL").arg(key(queue, name));
    }
    for name in STREAMS {
        reads.cmd("XRANGE").arg(key(queue, name)).arg("-").arg("+");
    }
    reads.cmd("GET").arg(key(queue, "view"));
    let mut found = Vec::new();
    for mut link in links(server, queue).await {
        let answers = link.req_packed_commands(&reads, 0, reads.len()).await;
        found.push(answers.expect("the server answers"));
    }
    let names = SORTED_SETS.iter().chain(&HASHES).chain(&STREAMS).chain(&["view"]);
    for (name, (embedded, answer)) in names.zip(found[0].iter().zip(&found[1])) {
        if !is_same(embedded, answer) {
            return Err(format!(
                "the key {name}\n  embedded: {embedded:?}\n  {server:?}: {answer:?}"
            ));
        }
    }
    Ok(())
}
