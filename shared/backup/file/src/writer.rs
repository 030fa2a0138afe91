//! The one thread that writes to the file. It takes everything that is asked for at the moment into one transaction,
//! so that a thousand writes at once cost one or two waits for the disk, and not a thousand.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use redb::Database;
use tokio::sync::{mpsc, oneshot};
use vestibule_backup::BackupError;
use vestibule_clock::now_ms;

use super::store::{SweepCursor, Tables, unavailable};

/// The most requests in one transaction.
const GROUP: usize = 1_024;
/// How many requests may wait; whoever comes then waits to be heard.
const WAITING: usize = 4_096;

/// Does its part in a transaction, and hands back how to answer when that is committed or not.
type Request = Box<dyn FnOnce(&mut Tables<'_>) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<(), &redb::Error>) + Send>;

/// The writer thread. Dropping it commits everything that was asked for, and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(database: Arc<Database>) -> io::Result<Self> {
        let (requests, inbox) = mpsc::channel(WAITING);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(&database, inbox))?;
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread),
        })
    }

    /// Lets `act` write, and answers when what it wrote would survive a crash. Dropping the future does not take the
    /// request back.
    pub(super) async fn commit<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Tables<'_>) -> Result<T, BackupError> + Send + 'static,
    ) -> Result<T, BackupError> {
        let (reply, answer) = oneshot::channel();
        let request: Request = Box::new(move |tables| {
            let outcome = act(tables);
            Box::new(move |committed| {
                let outcome = match committed {
                    Ok(()) => outcome,
                    Err(error) => Err(unavailable(error)),
                };
                // Nobody may be waiting for it any more.
                let _ = reply.send(outcome);
            })
        });
        if let Some(requests) = &self.requests {
            // Where nobody takes the request it is dropped, and the reply in it: the answer tells.
            let _ = requests.send(request).await;
        }
        let lost = || BackupError::Unavailable("the store file takes no more writes".to_owned());
        #[cfg(test)]
        let answer = stopping_time(answer);
        answer.await.map_err(|_| lost())?
    }
}

/// Tests run by a clock that leaps to the next deadline whenever nobody works: the writer's own thread does not count.
#[cfg(test)]
async fn stopping_time<T: Send + 'static>(
    answer: oneshot::Receiver<T>,
) -> Result<T, oneshot::error::RecvError> {
    let waiting = tokio::task::spawn_blocking(move || answer.blocking_recv());
    waiting.await.expect("it does not panic")
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed already, and whoever asked was told.
            let _ = thread.join();
        }
    }
}

fn run(database: &Database, mut inbox: mpsc::Receiver<Request>) {
    let mut cursor = SweepCursor::default();
    while let Some(first) = inbox.blocking_recv() {
        let mut group = vec![first];
        while group.len() < GROUP
            && let Ok(request) = inbox.try_recv()
        {
            group.push(request);
        }
        let mut answers = Vec::with_capacity(group.len());
        let committed = transact(database, group, &mut answers, &mut cursor);
        for answer in answers {
            answer(committed.as_ref().copied());
        }
    }
}

fn transact(
    database: &Database,
    group: Vec<Request>,
    answers: &mut Vec<Answer>,
    cursor: &mut SweepCursor,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut tables = Tables::open(&transaction)?;
        answers.extend(group.into_iter().map(|request| request(&mut tables)));
        tables.sweep_some(cursor, now_ms())?;
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
    async fn a_thousand_writes_at_once_are_one_transaction() {
        let directory = tempfile::tempdir().expect("a directory");
        let database = Database::create(directory.path().join("store")).expect("a store");
        let writer = Writer::start(Arc::new(database)).expect("a thread");
        let done = Arc::new(AtomicUsize::new(0));
        let (has_begun, begun) = oneshot::channel();
        let (go_on, wait) = blocking::channel::<()>();

        // The thread is busy with the first one while a thousand others come.
        let first = writer.commit(move |_| {
            has_begun.send(()).expect("the others wait for it");
            wait.recv().expect("somebody says so");
            Ok(())
        });
        let others = async {
            begun.await.expect("it begins");
            let asking = join_all((0..1_000).map(async |_| {
                let in_there = Arc::clone(&done);
                let count = move |_: &mut Tables<'_>| Ok(in_there.fetch_add(1, Ordering::SeqCst));
                writer.commit(count).await.expect("committed");
                done.load(Ordering::SeqCst)
            }));
            // Else some would be made to pause between taking their room in the channel and asking.
            unconstrained(asking).await
        };
        let requests = writer.requests.as_ref().expect("it runs");
        let all_have_come = async {
            while requests.capacity() > WAITING - 1_000 {
                tokio::task::yield_now().await;
            }
            go_on.send(()).expect("the first one waits");
        };
        let all = async { tokio::join!(first, others, all_have_come) };
        let (first, seen, ()) = timeout(Duration::from_secs(30), all).await.expect("in time");
        first.expect("committed");
        // Nobody was answered before all had been done: one commit was for all of them.
        assert_eq!(seen, vec![1_000; 1_000]);
    }
}
