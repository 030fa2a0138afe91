//! Asks a server once more what the embedded server was asked, and compares the answers and the keys.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt, fs,
    path::Path,
};

use redis::{Arg, Cmd, Value, aio::ConnectionLike};
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_tests::lines::{Backend, RawLink, embedded_server, fresh_queue};

use crate::queue_keys::{HASHES, SORTED_SETS, STREAMS, VIEW, key, names, remove_all};

/// How many calls are sent at once.
const CALLS_PER_PIPELINE: usize = 1_000;
/// After how many sequences a long run tells how far it is.
const SEQUENCES_PER_REPORT: u64 = 1_000;
/// The folders of the scripts that a client calls.
const FOLDERS: [&str; 6] = ["visit", "tick", "presence", "journal", "recovery", "operator"];
/// The queue whose keys the preflight names. It is in another hash slot.
const PREFLIGHT_QUEUE: &str = "vestibule.preflight";
/// What a server says of itself.
const OWN_COMMANDS: [&[u8]; 4] = [b"SCRIPT", b"ACL", b"INFO", b"CONFIG"];

/// A replay of all sequences on one server.
pub(crate) struct Replay {
    server: Backend,
    /// The queue of each sequence.
    pub(crate) queue: QueueId,
    embedded: RawLink,
    link: RawLink,
    preflight_link: RawLink,
    began: Instant,
    sequences: Cell<u64>,
    /// The files of the scripts by what they do.
    files: BTreeMap<String, String>,
    /// The files of the scripts by their hash.
    loaded: RefCell<BTreeMap<Vec<u8>, String>>,
    /// The calls by script, and other commands by name.
    calls: RefCell<BTreeMap<String, u64>>,
}

impl Replay {
    pub(crate) async fn connect(server: Backend) -> Self {
        let queue = fresh_queue();
        let preflight = PREFLIGHT_QUEUE.parse().expect("a queue id");
        Self {
            server,
            embedded: Backend::Embedded.raw_link(&queue).await,
            link: server.raw_link(&queue).await,
            preflight_link: server.raw_link(&preflight).await,
            queue,
            began: Instant::now(),
            sequences: Cell::default(),
            files: script_files(),
            loaded: RefCell::default(),
            calls: RefCell::default(),
        }
    }

    /// Begins to record, without the queue of the last sequence.
    pub(crate) async fn begin(&self) {
        for link in [&self.embedded, &self.link] {
            remove_all(&mut link.clone(), &self.queue).await;
        }
        self.load_scripts(&embedded_server().take_recorded()).await;
    }

    /// Replays what was recorded. Returns what differs.
    pub(crate) async fn compare(&self) -> Result<(), String> {
        let recorded = embedded_server().take_recorded();
        self.load_scripts(&recorded).await;
        let calls = recorded.iter().filter(|(command, answer)| {
            let name = words(command).next().unwrap_or_default();
            !OWN_COMMANDS.contains(&name) && !lacked_script(answer)
        });
        let (of_preflight, of_queue): (Vec<_>, Vec<_>) =
            calls.partition(|(command, _)| is_preflight(command));
        self.replay(&mut self.link.clone(), &of_queue).await?;
        self.replay(&mut self.preflight_link.clone(), &of_preflight)
            .await?;
        self.compare_keys().await?;
        self.sequences.set(self.sequences.get() + 1);
        if self.sequences.get().is_multiple_of(SEQUENCES_PER_REPORT) {
            println!("{self}");
        }
        Ok(())
    }

    /// The scripts of the line that no sequence has called.
    pub(crate) fn find_uncalled(&self) -> Vec<&str> {
        let calls = self.calls.borrow();
        let files = self.files.values().map(String::as_str);
        files.filter(|file| !calls.contains_key(*file)).collect()
    }

    async fn replay(&self, link: &mut RawLink, calls: &[&(Cmd, Value)]) -> Result<(), String> {
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
                let name = self.count(command);
                if !is_same(embedded, &answer) {
                    let words: Vec<_> = words(command).map(String::from_utf8_lossy).collect();
                    return Err(format!(
                        "{name}: {words:?}\n  embedded: {embedded:?}\n  {:?}: {answer:?}",
                        self.server
                    ));
                }
            }
        }
        Ok(())
    }

    /// Loads the scripts that were recorded.
    async fn load_scripts(&self, recorded: &[(Cmd, Value)]) {
        let mut load = redis::pipe();
        for (command, answer) in recorded {
            let words: Vec<_> = words(command).collect();
            if let ([b"SCRIPT", b"LOAD", source], Value::BulkString(hash)) = (words.as_slice(), answer) {
                load.add_command(command.clone());
                let purpose = purpose(str::from_utf8(source).expect("a script is a text"));
                let file = purpose.and_then(|purpose| self.files.get(purpose));
                let file = file.expect("each script is in a folder of the line");
                self.loaded.borrow_mut().insert(hash.clone(), file.clone());
            }
        }
        if load.is_empty() {
            return;
        }
        for link in [&self.link, &self.preflight_link] {
            let loaded = load.exec_async(&mut link.clone()).await;
            loaded.expect("the scripts are loaded");
        }
    }

    /// Counts a call. Returns the file of the script, or the name of another command.
    fn count(&self, command: &Cmd) -> String {
        let mut words = words(command);
        let name = words.next().map(String::from_utf8_lossy).unwrap_or_default();
        let loaded = self.loaded.borrow();
        let file = words.next().and_then(|hash| loaded.get(hash));
        let name = file.map_or(name.as_ref(), String::as_str).to_owned();
        *self.calls.borrow_mut().entry(name.clone()).or_default() += 1;
        name
    }

    /// Compares all keys of the queue.
    async fn compare_keys(&self) -> Result<(), String> {
        let mut reads = redis::pipe();
        for name in SORTED_SETS {
            reads
                .cmd("ZRANGE")
                .arg(key(&self.queue, name))
                .arg(0)
                .arg(-1)
                .arg("WITHSCORES");
        }
        for name in HASHES {
            reads.cmd("HGETALL").arg(key(&self.queue, name));
        }
        for name in STREAMS {
            reads.cmd("XRANGE").arg(key(&self.queue, name)).arg("-").arg("+");
        }
        reads.cmd("GET").arg(key(&self.queue, VIEW));
        let mut found = Vec::new();
        for link in [&self.embedded, &self.link] {
            let answers = link.clone().req_packed_commands(&reads, 0, reads.len()).await;
            found.push(answers.expect("the server answers"));
        }
        for (name, (embedded, answer)) in names().zip(found[0].iter().zip(&found[1])) {
            // Of a sorted set, the order counts.
            let is_equal = if SORTED_SETS.contains(&name) {
                embedded == answer
            } else {
                is_same(embedded, answer)
            };
            if !is_equal {
                return Err(format!(
                    "the key {name}\n  embedded: {embedded:?}\n  {:?}: {answer:?}",
                    self.server
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = self.calls.borrow();
        let is_script = |name: &String| name.contains('/');
        let mut counts: Vec<_> = calls.iter().map(|(name, count)| (count, name)).collect();
        counts.sort();
        for (count, name) in counts {
            writeln!(f, "{count:>10}  {name}")?;
        }
        let of_scripts: u64 = calls
            .iter()
            .filter(|(name, _)| is_script(name))
            .map(|(_, count)| count)
            .sum();
        let all: u64 = calls.values().sum();
        write!(
            f,
            "{of_scripts:>10}  calls of {} scripts and {} other commands in {} sequences and {} s on {:?}",
            calls.keys().filter(|name| is_script(name)).count(),
            all - of_scripts,
            self.sequences.get(),
            self.began.elapsed().as_secs(),
            self.server
        )
    }
}

/// The files of all scripts of the line, by what they do.
fn script_files() -> BTreeMap<String, String> {
    let lua = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/line/lua");
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(lua.join(folder)).expect("the folder has scripts") {
            let path = entry.expect("a file").path();
            let source = fs::read_to_string(&path).expect("a script");
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let purpose = purpose(&source).unwrap_or_else(|| panic!("{name} has a header"));
            let other = files.insert(purpose.to_owned(), format!("{folder}/{name}"));
            assert_eq!(other, None, "{name} has the header of another script");
        }
    }
    files
}

/// What a script does, in the first line of its header.
fn purpose(source: &str) -> Option<&str> {
    let (before, _) = source.split_once("-- KEYS:")?;
    let lines = before.lines().rev();
    lines.map_while(|line| line.strip_prefix("-- ")).last()
}

fn is_preflight(command: &Cmd) -> bool {
    let prefix = format!("vestibule:{{{PREFLIGHT_QUEUE}}}:");
    words(command).any(|word| word.starts_with(prefix.as_bytes()))
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

/// The answer, the same for each order of fields.
fn to_sorted(answer: &Value) -> Value {
    match answer {
        Value::Array(answers) => match answers.as_slice() {
            // A preflight: behind the first word is the server's version.
            [Value::BulkString(outcome), _, rest @ ..] if outcome == b"answered" => {
                Value::Array(rest.to_vec())
            }
            // A page: entries with their scores, and in the same order what else is known of each.
            [
                Value::BulkString(outcome),
                cursor,
                Value::Array(pairs),
                Value::Array(marks),
                rest @ ..,
            ] if outcome == b"page" && pairs.len() == 2 * marks.len() => {
                let entries = pairs.chunks(2).zip(marks);
                let mut entries: Vec<_> = entries.collect();
                entries.sort_by_key(|(pair, _)| to_bytes(&pair[0]));
                let entries = entries
                    .into_iter()
                    .flat_map(|(pair, mark)| pair.iter().chain([mark]));
                Value::Array(
                    [cursor]
                        .into_iter()
                        .chain(entries)
                        .chain(rest)
                        .map(to_sorted)
                        .collect(),
                )
            }
            words if words.len().is_multiple_of(2) && words.iter().all(is_text) => sort_pairs(words),
            answers => Value::Array(answers.iter().map(to_sorted).collect()),
        },
        Value::BulkString(text) => {
            read_json(text).map_or_else(|| answer.clone(), |values| to_sorted(&values))
        }
        _ => answer.clone(),
    }
}

fn to_bytes(answer: &Value) -> &[u8] {
    match answer {
        Value::BulkString(text) => text,
        _ => b"",
    }
}

fn is_text(answer: &Value) -> bool {
    matches!(answer, Value::BulkString(_))
}

/// Fields and their values, in an order that does not depend on the server.
pub(crate) fn sort_pairs(words: &[Value]) -> Value {
    let mut pairs: Vec<_> = words.chunks(2).collect();
    pairs.sort_by_key(|pair| to_bytes(&pair[0]));
    Value::Array(pairs.into_iter().flatten().cloned().collect())
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
