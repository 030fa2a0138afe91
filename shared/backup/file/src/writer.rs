//! The one thread that writes to the file. It puts all requests that are waiting into one
//! transaction. So a thousand concurrent writes wait for the disk once or twice, not a thousand
//! times.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use redb::Database;
#[cfg(any(test, feature = "paused-time"))]
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};
use vestibule_backup::BackupError;
use vestibule_telemetry::clock::now_ms;

use super::{
    store::{Store, is_disk_error},
    sweep::Sweeper,
    tables::{Tables, to_backup_error},
};

/// The most requests in one transaction.
const REQUESTS_PER_COMMIT_MAX: usize = 1_024;
/// The most requests in the channel. Beyond that, a caller waits until there is room.
const QUEUED_REQUESTS_MAX: usize = 4_096;

/// Applies its writes in a transaction, and returns the function that answers the caller after the
/// commit or its failure.
type Request = Box<dyn FnOnce(&mut Tables<'_>) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<(), BackupError>) + Send>;

/// The writer thread. Dropping it commits every request that was sent, and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(store: Arc<Store>) -> io::Result<Self> {
        let (requests, inbox) = mpsc::channel(QUEUED_REQUESTS_MAX);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run_writer(&store, inbox))?;
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread),
        })
    }

    /// Runs `act` in the next transaction, and returns when its writes would survive a crash.
    /// Dropping the future does not cancel the request.
    pub(super) async fn commit<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Tables<'_>) -> Result<T, BackupError> + Send + 'static,
    ) -> Result<T, BackupError> {
        let (reply, answer) = oneshot::channel();
        let request: Request = Box::new(move |tables| {
            let outcome = act(tables);
            Box::new(move |committed| {
                // The caller may have stopped waiting.
                let _ = reply.send(committed.and(outcome));
            })
        });
        if let Some(requests) = &self.requests {
            // If the thread has ended, the request is dropped together with its reply channel, and
            // `answer` fails below.
            let _ = requests.send(request).await;
        }
        let lost = || BackupError::Unavailable("the store file accepts no more writes".to_owned());
        #[cfg(any(test, feature = "paused-time"))]
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            return receive_with_clock_held(answer).await.map_err(|_| lost())?;
        }
        answer.await.map_err(|_| lost())?
    }
}

/// Keeps the paused clock of a test from advancing while the writer works. Tokio advances it to the
/// next deadline when its runtime is idle, and the writer's own thread does not count as work. Only a
/// runtime of one thread can pause its clock, so a runner that is built with this feature, as that of
/// the tests is, does not do this.
#[cfg(any(test, feature = "paused-time"))]
async fn receive_with_clock_held<T: Send + 'static>(
    answer: oneshot::Receiver<T>,
) -> Result<T, oneshot::error::RecvError> {
    let waiting = tokio::task::spawn_blocking(move || answer.blocking_recv());
    waiting.await.expect("receiving the answer does not panic")
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // The panic handler has printed a panic of the thread already, and its callers received
            // an error.
            let _ = thread.join();
        }
    }
}

fn run_writer(store: &Store, mut inbox: mpsc::Receiver<Request>) {
    let mut sweeper = Sweeper::default();
    let mut has_failed = false;
    while let Some(first) = inbox.blocking_recv() {
        let mut group = vec![first];
        while group.len() < REQUESTS_PER_COMMIT_MAX
            && let Ok(request) = inbox.try_recv()
        {
            group.push(request);
        }
        let mut answers = Vec::with_capacity(group.len());
        // A request whose group never began is dropped with its reply channel, so its caller gets an error.
        let committed = commit_group(store, group, &mut answers, &mut sweeper);
        if committed.is_ok() && has_failed {
            tracing::warn!(event = "store.recovered", "the store file accepts writes again");
        } else if let Err(error) = &committed
            && !has_failed
        {
            tracing::error!(
                event = "store.failed", %error,
                "the store file cannot be written; until it can, changes stay in memory and are lost with this process"
            );
        }
        has_failed = committed.is_err();
        for answer in answers {
            answer(committed.clone());
        }
    }
}

/// Commits the requests in one transaction. If the disk fails, the store file is closed, and the next group opens it
/// anew.
fn commit_group(
    store: &Store,
    group: Vec<Request>,
    answers: &mut Vec<Answer>,
    sweeper: &mut Sweeper,
) -> Result<(), BackupError> {
    let database = store.database_or_reopen()?;
    let committed = commit(&database, group, answers, sweeper);
    drop(database);
    committed.map_err(|error| {
        if is_disk_error(&error) {
            store.close_failed();
        }
        to_backup_error(&error)
    })
}

fn commit(
    database: &Database,
    group: Vec<Request>,
    answers: &mut Vec<Answer>,
    sweeper: &mut Sweeper,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut tables = Tables::open(&transaction)?;
        answers.extend(group.into_iter().map(|request| request(&mut tables)));
        sweeper.sweep(&mut tables, now_ms())?;
    }
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc as blocking,
        },
        time::Duration,
    };

    use futures_util::future::join_all;
    use tokio::{task::unconstrained, time::timeout};

    use super::*;

    #[tokio::test]
    async fn concurrent_writes_share_one_transaction() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(&directory.path().join("store")).expect("a new store file");
        let writer = Writer::start(Arc::new(store)).expect("the writer thread starts");
        let done = Arc::new(AtomicUsize::new(0));
        let (has_begun, begun) = oneshot::channel();
        let (go_on, wait) = blocking::channel::<()>();

        // The first request keeps the thread busy while a thousand others arrive.
        let first = writer.commit(move |_| {
            has_begun.send(()).expect("the others wait for the first request");
            wait.recv().expect("the test lets the first request continue");
            Ok(())
        });
        let others = async {
            begun.await.expect("the first request begins");
            let asking = join_all((0..1_000).map(async |_| {
                let in_there = Arc::clone(&done);
                let count = move |_: &mut Tables<'_>| Ok(in_there.fetch_add(1, Ordering::SeqCst));
                writer.commit(count).await.expect("the write is committed");
                done.load(Ordering::SeqCst)
            }));
            // Without this, Tokio would pause some tasks between reserving room in the channel and
            // sending.
            unconstrained(asking).await
        };
        let requests = writer.requests.as_ref().expect("the writer runs");
        let all_have_come = async {
            while requests.capacity() > QUEUED_REQUESTS_MAX - 1_000 {
                tokio::task::yield_now().await;
            }
            go_on.send(()).expect("the first request waits");
        };
        let all = async { tokio::join!(first, others, all_have_come) };
        let (first, seen, ()) = timeout(Duration::from_secs(30), all)
            .await
            .expect("it ends in time");
        first.expect("the first write is committed");
        // Each caller sees all thousand writes done when it is answered, so one commit covered all
        // of them.
        assert_eq!(seen, vec![1_000; 1_000]);
    }
}
