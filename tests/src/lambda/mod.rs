//! Lambda on this machine: real function binaries as processes, each asking a runtime API of its own for one invocation
//! at a time, several of them for a function at once, killed when their time is over; and API Gateway in front.
//!
//! After AWS's description of the [runtime API](https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) and of
//! the [execution environment](https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html).

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

pub mod document;
mod environment;
mod event;
pub mod gateway;
mod runtime_api;

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;

use self::environment::Environment;

/// What one function is.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Its program.
    pub program: PathBuf,
    /// Its own variables; nothing else of this process's environment reaches it but what says where AWS is.
    pub variables: BTreeMap<String, String>,
    /// The longest that one invocation may take.
    pub timeout: Duration,
    /// The most environments at once: its reserved concurrency.
    pub environments_max: usize,
}

/// Why an invocation brought no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// All environments are busy, and no more may be started.
    Throttled,
    /// The process ended before it asked for an invocation; how, or the error that it named.
    Init(String),
    /// The process ended while it worked.
    Exited(String),
    /// The time was over, and the process was killed.
    TimedOut,
    /// The function said that it failed.
    Function(Value),
}

/// Functions that can be invoked. Their processes end when it is dropped.
#[derive(Debug, Clone)]
pub struct Lambda(Arc<HashMap<&'static str, Arc<Pool>>>);

/// The lines that the processes of a function wrote.
type Logs = Arc<Mutex<Vec<String>>>;

/// The environments of one function.
#[derive(Debug)]
struct Pool {
    function: Function,
    slots: Semaphore,
    idle: Mutex<Vec<Environment>>,
    busy: Mutex<Vec<u32>>,
    started: AtomicUsize,
    logs: Logs,
}

impl Lambda {
    /// These functions, none of them started: Lambda starts what is invoked.
    pub fn new(functions: impl IntoIterator<Item = Function>) -> Self {
        let pools = functions.into_iter().map(|function| {
            let pool = Pool {
                slots: Semaphore::new(function.environments_max),
                idle: Mutex::default(),
                busy: Mutex::default(),
                started: AtomicUsize::new(0),
                logs: Logs::default(),
                function,
            };
            (pool.function.name, Arc::new(pool))
        });
        Self(Arc::new(pools.collect()))
    }

    /// Invokes a function and waits for its answer, in an environment that is idle or in a new one.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn invoke(&self, function: &str, payload: &Value) -> Result<Value, Failure> {
        let pool = self.pool(function).clone();
        let payload = Bytes::from(payload.to_string());
        // A caller who goes away does not stop an invocation.
        let invocation = tokio::spawn(async move { pool.invoke(payload).await });
        let answer = invocation.await.expect("an invocation does not panic")?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_slice(&answer).expect("functions answer in JSON"))
    }

    /// Kills every environment of a function, with SIGKILL, as it stands; says how many worked.
    pub fn kill(&self, function: &str) -> usize {
        lock(&self.pool(function).idle).clear();
        self.signal(function, "KILL")
    }

    /// Sends a signal to every environment of a function that works; says how many it reached. One that has just ended by
    /// itself is not among them.
    pub fn signal(&self, function: &str, signal: &str) -> usize {
        let busy = lock(&self.pool(function).busy).clone();
        let reached = busy.iter().filter(|pid| {
            let sent = std::process::Command::new("kill")
                .args([&format!("-{signal}"), &pid.to_string()])
                .status();
            sent.expect("kill can be started").success()
        });
        reached.count()
    }

    /// How many environments of a function work now.
    pub fn busy(&self, function: &str) -> usize {
        lock(&self.pool(function).busy).len()
    }

    /// How many environments of a function were started since the beginning.
    pub fn started(&self, function: &str) -> usize {
        self.pool(function).started.load(Ordering::SeqCst)
    }

    /// Whether a process of a function wrote a line with this in it.
    pub fn logged(&self, function: &str, text: &str) -> bool {
        lock(&self.pool(function).logs)
            .iter()
            .any(|line| line.contains(text))
    }

    fn pool(&self, function: &str) -> &Arc<Pool> {
        self.0
            .get(function)
            .unwrap_or_else(|| panic!("there is no function {function}"))
    }
}

impl Pool {
    async fn invoke(&self, payload: Bytes) -> Result<Bytes, Failure> {
        let Ok(_slot) = self.slots.try_acquire() else {
            return Err(Failure::Throttled);
        };
        let idle = lock(&self.idle).pop();
        let environment = if let Some(environment) = idle {
            environment
        } else {
            self.started.fetch_add(1, Ordering::SeqCst);
            Environment::start(&self.function, &self.logs).await?
        };
        let pid = environment.pid;
        lock(&self.busy).push(pid);
        let (kept, outcome) = environment.invoke(payload, self.function.timeout).await;
        lock(&self.busy).retain(|busy| *busy != pid);
        if let Some(environment) = kept {
            lock(&self.idle).push(environment);
        }
        outcome
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
