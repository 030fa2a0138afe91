//! Why the process did not start: each one clear line.

use std::{io, path::PathBuf, time::Duration};

use vestibule_backup::BackupError;
use vestibule_backup_file::FileError;
use vestibule_domain::id::QueueId;
use vestibule_engine::sync::SyncError;
use vestibule_line::LineError;

use crate::keys::KeyError;

/// Why the process did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("--dynamodb must be an address such as http://127.0.0.1:8000, not {0:?}")]
    NoAddress(String),
    #[error("the folder {0} cannot be made: {1}")]
    Folder(PathBuf, io::Error),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Store(#[from] FileError),
    #[error("Redis cannot be used: {0}")]
    Redis(LineError),
    #[error("DynamoDB cannot be used: {0}")]
    DynamoDb(BackupError),
    #[error("Redis does not answer within {} s", .0.as_secs())]
    SilentRedis(Duration),
    #[error("the queues cannot be read: {0}")]
    Queues(#[from] BackupError),
    #[error("the queue {0} cannot be put back: {1}")]
    Queue(QueueId, SyncError),
    #[error("the queue demo:1 cannot be made: {0}")]
    Demo(String),
    #[error("port {0} cannot be listened on: {1} (choose another with --port)")]
    Port(u16, io::Error),
    #[error("the process cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("serving ended early: {0}")]
    Serving(io::Error),
    #[error("not everything reached the backup: {0}")]
    Unsettled(String),
}
