//! Writes new entries to a store file without end, and prints each entry id when its write is acknowledged. A
//! test kills this program.

use std::io::{Write, stdout};

use futures_util::{StreamExt, stream};
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::change::Event;
use vestibule_tests::entries::{change, fresh_id, partition_of, place};

const WRITES_AT_ONCE: usize = 20;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(queue)) = (arguments.next(), arguments.next()) else {
        panic!("usage: store_writer FILE QUEUE");
    };
    let partition = partition_of(queue.parse().expect("the queue id is valid"));
    let backup = FileBackup::open(path).expect("the store opens");
    let written = stream::iter(1..).map(|n| {
        let (backup, partition) = (&backup, &partition);
        async move {
            let id = fresh_id();
            let entered = Event::Entered {
                place: place(n),
                after: None,
            };
            backup
                .put_change(partition, &change(id, n, entered))
                .await
                .expect("the change is written");
            id
        }
    });
    let mut acknowledged = written.buffer_unordered(WRITES_AT_ONCE);
    while let Some(id) = acknowledged.next().await {
        let mut out = stdout().lock();
        writeln!(out, "{id}")
            .and_then(|()| out.flush())
            .expect("the test reads the output");
    }
}
