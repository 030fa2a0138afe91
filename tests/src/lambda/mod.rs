//! Lambda on this machine. It runs the real function binaries as processes. Each process asks its own runtime API for
//! one invocation at a time. A function may have several processes, and Lambda kills one that exceeds its timeout.
//!
//! AWS describes the [runtime API](https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html) and the
//! [execution environment](https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html).

// A panic in the harness fails the test.
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

use axum::{body::Bytes, http::HeaderValue};
use serde_json::Value;
use tokio::sync::Semaphore;

use self::environment::Environment;

/// The definition of one function.
#[derive(Debug, Clone)]
pub struct Function {
    /// The name.
    pub name: &'static str,
    /// The path of the binary.
    pub program: PathBuf,
    /// The environment variables. From the environment of this process, the function inherits only the AWS credentials.
    pub variables: BTreeMap<String, String>,
    /// The longest that one invocation may take.
    pub timeout: Duration,
    /// The most environments at once, which is the reserved concurrency.
    pub environments_max: usize,
}

/// What a caller gives to a function. Lambda checks none of it, apart from the payload being JSON.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// The event.
    pub payload: Bytes,
    /// What the caller says about itself, as JSON. A runtime reads it before the function is called.
    pub client_context: Option<HeaderValue>,
    /// The alias that the caller invokes; `None` for the function itself.
    pub alias: Option<&'static str>,
}

/// Why an invocation gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvocationError {
    /// All environments are busy, and the function may not have more.
    Throttled,
    /// The process ended before it asked for an invocation. Contains the exit status, or the error that it reported.
    Init(String),
    /// The process ended during the invocation. Contains the exit status.
    Exited(String),
    /// The invocation exceeded the timeout, and Lambda killed the process.
    TimedOut,
    /// The function reported an error.
    Function(Value),
}

/// Functions that can be invoked. Dropping the last clone ends their processes.
#[derive(Debug, Clone)]
pub struct Lambda(Arc<HashMap<&'static str, Arc<Pool>>>);

/// The log lines of the processes of a function.
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
    /// Creates these functions without a process. Lambda starts a process when a function is invoked.
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

    /// Invokes a function in an idle environment, or in a new one, and waits for the answer.
    ///
    /// # Errors
    /// [`InvocationError`] if the invocation gives no answer.
    pub async fn invoke(&self, function: &str, payload: &Value) -> Result<Value, InvocationError> {
        let order = Order {
            payload: Bytes::from(payload.to_string()),
            ..Order::default()
        };
        self.invoke_with(function, order).await
    }

    /// Like [`invoke`](Self::invoke), with all that a caller can give.
    ///
    /// # Errors
    /// [`InvocationError`] if the invocation gives no answer.
    pub async fn invoke_with(&self, function: &str, order: Order) -> Result<Value, InvocationError> {
        let pool = self.pool(function).clone();
        // An invocation goes on if its caller goes away.
        let invocation = tokio::spawn(async move { pool.invoke(order).await });
        let answer = invocation.await.expect("an invocation does not panic")?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_slice(&answer).expect("functions answer in JSON"))
    }

    /// Kills every environment of a function with SIGKILL. Returns how many of them were busy.
    pub fn kill(&self, function: &str) -> usize {
        lock(&self.pool(function).idle).clear();
        self.signal(function, "KILL")
    }

    /// Sends a signal to every busy environment of a function. Returns how many received it; a process that has just
    /// ended does not.
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

    /// The process ids of the environments of a function.
    pub fn pids(&self, function: &str) -> Vec<u32> {
        let pool = self.pool(function);
        let idle = lock(&pool.idle)
            .iter()
            .map(|environment| environment.pid)
            .collect::<Vec<_>>();
        let busy = lock(&pool.busy).clone();
        idle.into_iter().chain(busy).collect()
    }

    /// How many environments of a function are busy.
    pub fn busy_count(&self, function: &str) -> usize {
        lock(&self.pool(function).busy).len()
    }

    /// How many environments of a function were started in total.
    pub fn started_count(&self, function: &str) -> usize {
        self.pool(function).started.load(Ordering::SeqCst)
    }

    /// Whether a process of a function logged a line that contains `text`.
    pub fn has_logged(&self, function: &str, text: &str) -> bool {
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
    async fn invoke(&self, order: Order) -> Result<Bytes, InvocationError> {
        let Ok(_slot) = self.slots.try_acquire() else {
            return Err(InvocationError::Throttled);
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
        let (kept, outcome) = environment.invoke(order, self.function.timeout).await;
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
