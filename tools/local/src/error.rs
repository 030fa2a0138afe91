//! The errors that end the process. Each is one line that says what to do if the user can act.

use std::{io, path::PathBuf, time::Duration};

use vestibule_backup::BackupError;
use vestibule_backup_file::FileError;
use vestibule_domain::id::{OtherRootKey, QueueId};
use vestibule_engine::sync::SyncError;
use vestibule_line::LineError;

use crate::keys::KeyError;

/// Why the process did not start, or did not stop in order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("--dynamodb must be a URL such as http://127.0.0.1:8000, not {0:?}")]
    InvalidDynamoDbAddress(String),
    #[error("the process cannot create the folder {0}: {1}")]
    Folder(PathBuf, io::Error),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Store(#[from] FileError),
    #[error("the process cannot use Redis: {0}")]
    Redis(LineError),
    #[error("the process cannot use DynamoDB: {0}")]
    DynamoDb(BackupError),
    #[error("Redis did not answer within {} s", .0.as_secs())]
    RedisTimeout(Duration),
    #[error("the process cannot read the queues from the backup: {0}")]
    Queues(#[from] BackupError),
    #[error(
        "the queue {0} cannot be served: {1}; put back the root.key with which it was made, or move the store away to start \
         with an empty one"
    )]
    RootKey(QueueId, OtherRootKey),
    #[error("the process cannot restore the queue {0}: {1}")]
    Queue(QueueId, SyncError),
    #[error("the process cannot create the queue demo:1: {0}")]
    Demo(String),
    #[error("the process cannot listen on port {0}: {1}; choose another port with --port")]
    Port(u16, io::Error),
    #[error("the process cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("the HTTP server stopped early: {0}")]
    Serving(io::Error),
    #[error("some changes did not reach the backup: {0}")]
    UnflushedJournal(String),
}
