//! The origin key of a running process. A background task reads it again each minute, so that no request waits for it.

use std::{
    fmt,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::{task::JoinHandle, time::timeout};
use tracing::{info, warn};
use vestibule_telemetry::{emf::Metrics, metrics::ORIGIN_KEY_FAILURES};

use super::OriginKey;

/// How old the key may be before it is read again, and the time after which a failed reading is repeated.
const READ_INTERVAL: Duration = Duration::from_mins(1);
/// How long one reading may take while the process runs. The start of a process waits for the first reading.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// The steps in which that time is counted.
const READ_TIMEOUT_STEP: Duration = Duration::from_millis(200);

/// Reads the origin key from where it is kept, or says why there is none.
pub type OriginKeyRead = Box<dyn Fn() -> BoxFuture<'static, Result<OriginKey, String>> + Send + Sync>;

/// What a process knows of the origin key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginKeyState {
    /// No distribution stands before the API.
    NotConfigured,
    /// There is a key, but the process could not read it yet.
    Unknown,
    /// The key that was read last.
    Known(OriginKey),
}

/// The origin key of a running process. Clones share it. The default is none.
#[derive(Clone, Default)]
pub struct LiveOriginKey(Option<Arc<Shared>>);

struct Shared {
    read: OriginKeyRead,
    metrics: Metrics,
    known: Mutex<Option<OriginKey>>,
    last_reading: Mutex<Reading>,
}

struct Reading {
    begun_at: Instant,
    /// The task that reads; `None` for the reading at the start.
    task: Option<JoinHandle<()>>,
}

impl fmt::Debug for LiveOriginKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveOriginKey").field(&self.state()).finish()
    }
}

impl LiveOriginKey {
    /// Reads the key for the first time. A failure is logged, counted in `metrics`, and repaired by a later reading.
    pub async fn load(read: OriginKeyRead, metrics: Metrics) -> Self {
        let begun_at = Instant::now();
        let shared = Arc::new(Shared {
            read,
            metrics,
            known: Mutex::default(),
            last_reading: Mutex::new(Reading { begun_at, task: None }),
        });
        shared.read_once().await;
        Self(Some(shared))
    }

    /// What this process knows of the key.
    pub fn state(&self) -> OriginKeyState {
        let Some(shared) = &self.0 else {
            return OriginKeyState::NotConfigured;
        };
        let known = lock(&shared.known).clone();
        known.map_or(OriginKeyState::Unknown, OriginKeyState::Known)
    }

    /// Begins to read the key if the last reading began a minute ago or earlier. Waits for nothing: a later request
    /// finds the key.
    pub fn refresh_if_due(&self) {
        self.refresh_if_due_at(Instant::now());
    }

    fn refresh_if_due_at(&self, now: Instant) {
        let Some(shared) = &self.0 else { return };
        let mut last = lock(&shared.last_reading);
        let is_reading = last.task.as_ref().is_some_and(|task| !task.is_finished());
        if is_reading || now.saturating_duration_since(last.begun_at) < READ_INTERVAL {
            return;
        }
        let reader = shared.clone();
        *last = Reading {
            begun_at: now,
            task: Some(tokio::spawn(async move { reader.read_once().await })),
        };
    }
}

impl Shared {
    async fn read_once(&self) {
        let read = within_running_time(READ_TIMEOUT, (self.read)()).await;
        let read = read.unwrap_or_else(|| Err("no answer in time".to_owned()));
        let failures = u8::from(read.is_err());
        let mut known = lock(&self.known);
        match read {
            Ok(key) => {
                if known.as_ref().is_some_and(|known| !known.has_present_of(&key)) {
                    info!(event = "origin_key.changed", "took over a changed origin key");
                }
                *known = Some(key);
            }
            Err(reason) => warn!(
                event = "origin_key.read_failed",
                reason,
                has_earlier_key = known.is_some(),
                "could not read the origin key, and tries again in a minute; visitors enter all the same, but without an \
                 earlier key those who come through the distribution get no source; allow this function to read the \
                 secret, by its role and by the policy of the VPC endpoint"
            ),
        }
        drop(known);
        self.metrics
            .write_for_deployment([(ORIGIN_KEY_FAILURES, json!(failures))]);
    }
}

/// Waits for a future as long as this process runs; `None` if the time is over. Lambda freezes a process after its
/// answer, and a frozen process gets no answer: such a pause counts as one step, however long it was.
async fn within_running_time<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut waited = Duration::ZERO;
    while waited < limit {
        if let Ok(output) = timeout(READ_TIMEOUT_STEP, &mut future).await {
            return Some(output);
        }
        waited += READ_TIMEOUT_STEP;
    }
    None
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The lock holds whole values only, which are consistent even if a holder panicked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
