//! The server: takes the commands of a client, one after the other.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use redis::{Arg, Cmd, Pipeline, RedisFuture, Value, aio::ConnectionLike};
use vestibule_telemetry::clock::Clock;

use super::{
    commands::{Command, Effect, is_known},
    interpreter::Interpreter,
    reply::{Outcome, bulk, refusal},
    saved::{LoadError, load, save},
    store::{Key, Store},
};

/// A server in this process. Its clones are connections to the same server.
#[derive(Clone)]
pub struct EmbeddedServer(Arc<Shared>);

/// Receives a message, and returns whether it wants further ones.
type Listener = Box<dyn Fn(&[u8]) -> bool + Send>;

struct Shared {
    clock: Clock,
    /// Whether the server is full: it refuses what would take memory.
    is_full: AtomicBool,
    /// Whether the server was stopped: it refuses every command.
    is_stopped: AtomicBool,
    interpreter: Mutex<Interpreter>,
    /// A text in scripts, and what replaces it.
    planted: Mutex<Option<(String, String)>>,
    listeners: Mutex<HashMap<Key, Vec<Listener>>>,
    /// What was answered since the recording began.
    recorded: Mutex<Option<Vec<(Cmd, Value)>>>,
}

impl EmbeddedServer {
    /// Starts a server with no keys, whose time is that of `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Shared {
            clock,
            is_full: AtomicBool::default(),
            is_stopped: AtomicBool::default(),
            interpreter: Mutex::new(Interpreter::new()),
            planted: Mutex::default(),
            listeners: Mutex::default(),
            recorded: Mutex::default(),
        }))
    }

    /// The clock of the server.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Arc::clone(&self.0.clock)
    }

    /// Takes the commands that were answered since the last call, and records the next ones.
    #[must_use]
    pub fn take_recorded(&self) -> Vec<(Cmd, Value)> {
        lock(&self.0.recorded).replace(Vec::new()).unwrap_or_default()
    }

    /// Whether there is a command of this name, such as `HGET`.
    #[must_use]
    pub fn knows(name: &str) -> bool {
        is_known(name)
    }

    /// Makes the server full, as if it were at its `maxmemory`, or no longer.
    pub fn set_full(&self, is_full: bool) {
        self.0.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Stops the server, which refuses every command from now on. Returns its keys as the commands that make them, in the
    /// protocol of Redis, under a label.
    #[must_use]
    pub fn stop(&self, label: &str) -> Vec<u8> {
        let interpreter = lock(&self.0.interpreter);
        self.0.is_stopped.store(true, Ordering::Relaxed);
        save(&interpreter.lock().store, label)
    }

    /// Replaces all keys by those that [`stop`](Self::stop) returned under this label.
    ///
    /// # Errors
    /// [`LoadError`] if they have another label or are not complete. The keys are as before then.
    pub fn load(&self, saved: &[u8], label: &str) -> Result<(), LoadError> {
        let store = load(saved, label, (self.0.clock)())?;
        lock(&self.0.interpreter).lock().store = store;
        Ok(())
    }

    /// Removes all keys, as a server without a disk does when it restarts.
    pub fn lose_keys(&self) {
        lock(&self.0.interpreter).lock().store = Store::default();
    }

    /// Plants a fault: replaces a text in each script that is loaded from now on. A script keeps its name.
    pub fn plant_fault(&self, text: &str, faulty: &str) {
        *lock(&self.0.planted) = Some((text.to_owned(), faulty.to_owned()));
    }

    /// Sends the messages of a channel to `listener`, until it returns that it wants no more.
    pub fn subscribe(&self, channel: &str, listener: impl Fn(&[u8]) -> bool + Send + 'static) {
        let mut listeners = lock(&self.0.listeners);
        listeners
            .entry(channel.into())
            .or_default()
            .push(Box::new(listener));
    }

    /// Runs commands, with no other one between them.
    fn run<'a>(&self, commands: impl IntoIterator<Item = &'a Cmd>) -> Vec<Value> {
        let mut interpreter = lock(&self.0.interpreter);
        let commands = commands.into_iter();
        commands
            .map(|command| self.run_one(&mut interpreter, command))
            .collect()
    }

    fn run_one(&self, interpreter: &mut Interpreter, command: &Cmd) -> Value {
        let words: Vec<&[u8]> = command
            .args_iter()
            .map(|word| match word {
                Arg::Simple(word) => word,
                _ => b"0",
            })
            .collect();
        interpreter.lock().store.set_time((self.0.clock)());
        if self.0.is_stopped.load(Ordering::Relaxed) {
            return refusal("LOADING the server was stopped");
        }
        let is_full = self.0.is_full.load(Ordering::Relaxed);
        let planted = lock(&self.0.planted).clone();
        let answer = answer(interpreter, &words, is_full, planted.as_ref());
        let published = std::mem::take(&mut interpreter.lock().store.published);
        self.deliver(published);
        let answer = answer.unwrap_or_else(|text| refusal(&text));
        if let Some(recorded) = lock(&self.0.recorded).as_mut() {
            recorded.push((command.clone(), answer.clone()));
        }
        answer
    }

    /// Sends messages to the listeners of their channels.
    fn deliver(&self, messages: Vec<(Key, Vec<u8>)>) {
        if messages.is_empty() {
            return;
        }
        let mut listeners = lock(&self.0.listeners);
        for (channel, message) in messages {
            if let Some(of_channel) = listeners.get_mut(&channel) {
                of_channel.retain(|wants_more| wants_more(&message));
            }
        }
    }
}

/// Answers a command, which is one of the store, or of the server itself.
fn answer(
    interpreter: &mut Interpreter,
    words: &[&[u8]],
    is_full: bool,
    planted: Option<&(String, String)>,
) -> Outcome {
    match words {
        [b"EVALSHA", hash, count, rest @ ..] => {
            let count = str::from_utf8(count).ok().and_then(|count| count.parse().ok());
            let split = count.and_then(|count| rest.split_at_checked(count));
            let (keys, args) = split.ok_or("ERR Number of keys can't be greater than number of args")?;
            Ok(interpreter.run(&String::from_utf8_lossy(hash), keys, args, is_full))
        }
        [b"SCRIPT", b"LOAD", source] => {
            let hash = sha1_smol::Sha1::from(source).digest().to_string();
            let source = str::from_utf8(source).map_err(|_| "ERR a script must be UTF-8")?;
            let faulty = planted.map(|(text, faulty)| source.replace(text, faulty));
            interpreter.load(hash.clone(), faulty.as_deref().unwrap_or(source))?;
            Ok(bulk(hash.as_bytes()))
        }
        [b"INFO", b"memory"] => Ok(bulk(
            b"used_memory:0\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n",
        )),
        [b"ACL", b"WHOAMI"] => Ok(bulk(b"default")),
        [name, args @ ..] => {
            let command = Command::find(name)?;
            if is_full && command.effect == Effect::Adds {
                return Err("OOM command not allowed when used memory > 'maxmemory'.".to_owned());
            }
            command.run(&mut interpreter.lock().store, args)
        }
        [] => Err("ERR empty command".to_owned()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ConnectionLike for EmbeddedServer {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let answer = self.run([command]).pop().unwrap_or(Value::Nil);
        Box::pin(async { Ok(answer) })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let answers = self.run(commands.cmd_iter());
        let answers = answers.into_iter().skip(offset).take(count).collect();
        Box::pin(async { Ok(answers) })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

impl fmt::Debug for EmbeddedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmbeddedServer")
    }
}
