//! What several benchmarks start: the runner, and queues.

use redis::{Client, aio::MultiplexedConnection};
use serde_json::Value;
use tempfile::TempDir;
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_domain::{configuration::Configuration, id::QueueId, settings::Settings};
use vestibule_line::Line;
use vestibule_tests::{lines::configuration, runner::Runner, servers::connect_redis};

use crate::BenchResult;

/// Starts a runner without a demonstration, whose line is in this Redis. Its folder lives as long as the second value.
pub(crate) fn start_runner(redis_url: &str) -> BenchResult<(Runner, TempDir)> {
    let folder = tempfile::tempdir()?;
    let arguments = ["--demo-visitors", "0", "--quiet", "--redis", redis_url];
    let runner = Runner::start(folder.path(), &arguments).map_err(|ended| ended.stderr)?;
    Ok((runner, folder))
}

/// Connects to Redis past the line.
pub(crate) async fn open_redis(url: &str) -> BenchResult<MultiplexedConnection> {
    Ok(connect_redis(Client::open(url)?).await)
}

/// Removes all that is in Redis. The connection is patient: to drop a million entries takes Redis a while.
pub(crate) async fn flush_redis(url: &str) -> BenchResult<MultiplexedConnection> {
    let mut connection = open_redis(url).await?;
    redis::cmd("FLUSHALL").query_async::<()>(&mut connection).await?;
    Ok(connection)
}

/// Creates a queue with these settings in the line, and in the backup if there is one.
pub(crate) async fn create_queue(
    line: &Line,
    backup: Option<&dyn Backup>,
    queue: &QueueId,
    settings: &Value,
) -> BenchResult<Configuration> {
    let settings = settings.as_object().ok_or("settings are an object")?;
    let configuration = configuration(&Settings::from_map(settings)?);
    line.configure(queue, &configuration, true).await?;
    if let Some(backup) = backup {
        let stored = StoredQueue {
            settings: settings.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        backup.create_queue(queue, &stored).await?;
    }
    Ok(configuration)
}
