//! Measures how long the restore of a lost Redis takes: each half by itself, and the time from `FLUSHALL` to
//! the first promotion.
//!
//! The emulator is a process in Python, and the half that reads the table is as fast as it is. So the half that writes Redis has
//! the anchor: raw `ZADD`s of as many members.

mod process;
mod table;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use redis::aio::MultiplexedConnection;
use tokio::{sync::watch, time::sleep};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup};
use vestibule_domain::{
    configuration::Configuration,
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_engine::{restore::read_restored_entries, sync::SettingsPolicy};
use vestibule_line::{ConfigureOutcome, Line};
use vestibule_promoter::Promoter;
use vestibule_tests::{
    functions::fresh_tables, lines::visitor, processor_time::process_seconds, servers::dynamodb_url,
};

use self::table::Table;
use crate::{
    BenchResult, Context,
    figures::print_figure,
    scene::{flush_redis, open_redis},
};

/// The time limit for the whole restore.
const RESTORE_MAX: Duration = Duration::from_mins(10);
/// The members of a raw `ZADD`.
const MEMBERS_EACH: u64 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[arg(default_value_t = 1_000_000)]
    entries: usize,
}

pub(crate) async fn measure(options: &Options, context: &Context) -> BenchResult {
    let entries = context.size.count(options.entries);
    // Warnings explain a slow restore.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .init();
    let line = Line::connect(&context.redis_url).await?;
    let tables = fresh_tables();
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(dynamodb_url()),
        tables: tables.clone(),
    })
    .await;
    backup.create_tables_if_missing().await?;

    let queue: QueueId = "bench:restore".parse()?;
    let settings = Settings {
        // No visitor polls here, and only visitors who check in are promoted.
        presence_seconds: 0,
        capacity: 10_000_000,
        batch: 100,
        interval_seconds: 1,
        ..Settings::default()
    };
    let stored = StoredQueue {
        settings: settings.to_map().into(),
        settings_order: 0,
        metadata: QueueMetadata::new(Salt::new([2; 32])),
    };
    assert!(backup.create_queue(&queue, &stored).await?);
    let configuration = stored.configuration(settings);
    let partition = EntryPartition::from_configuration(&queue, &configuration);
    let table = Table::connect(&dynamodb_url(), tables).await;
    table.fill(&partition, entries).await?;
    eprintln!("{entries} entries are in the table");

    process::limit_cpu()?;
    let since = Instant::now();
    let found = read_restored_entries(&backup, &partition).await?;
    print_figure("table_read_s", since.elapsed().as_secs_f64(), 2);
    assert_eq!(found.waiting_count(), entries);

    let raw_seconds = measure_raw_writes(open_redis(&context.redis_url).await?, entries as u64).await?;
    let again = Configuration {
        epoch: 2,
        ..configuration
    };
    let since = Instant::now();
    let configured = line.restore(&queue, &again, 0, found).await?;
    let restore_seconds = since.elapsed().as_secs_f64();
    print_figure("redis_restore_s", restore_seconds, 2);
    print_figure("redis_restore_vs_zadd", restore_seconds / raw_seconds, 2);
    assert_eq!(configured, ConfigureOutcome::Created);

    process::reset_peak_rss()?;
    let cpu_before = process_seconds("self")?;
    let seconds = measure_restore(&context.redis_url, &line, backup, &queue).await?;
    print_figure("flush_to_first_promotion_s", seconds, 2);
    print_figure("restore_cpu_s", process_seconds("self")? - cpu_before, 2);
    print_figure("restore_peak_rss_mb", process::peak_rss_mb()?, 0);
    table.delete().await
}

/// The time in which Redis takes so many members of a sorted set, in seconds.
async fn measure_raw_writes(mut redis: MultiplexedConnection, members: u64) -> BenchResult<f64> {
    const KEY: &str = "bench:raw";
    let since = Instant::now();
    for first in (0..members).step_by(usize::try_from(MEMBERS_EACH)?) {
        let mut command = redis::cmd("ZADD");
        command.arg(KEY);
        for number in first..members.min(first + MEMBERS_EACH) {
            command.arg(number).arg(visitor(number).to_member());
        }
        command.query_async::<()>(&mut redis).await?;
    }
    let seconds = since.elapsed().as_secs_f64();
    redis::cmd("UNLINK")
        .arg(KEY)
        .query_async::<()>(&mut redis)
        .await?;
    Ok(seconds)
}

/// The time from `FLUSHALL` to the first promotion, with a running promoter, in seconds.
async fn measure_restore(
    redis_url: &str,
    line: &Line,
    backup: DynamoDbBackup,
    queue: &QueueId,
) -> BenchResult<f64> {
    flush_redis(redis_url).await?;
    let since = Instant::now();
    let promoter = Arc::new(Promoter::new(
        line.clone(),
        Arc::new(backup),
        SettingsPolicy::default(),
    ));
    let (stop, mut stopped) = watch::channel(());
    let running = tokio::spawn(async move {
        promoter.run(async move { drop(stopped.changed().await) }).await;
    });
    loop {
        if line
            .queue_view(queue)
            .await
            .is_ok_and(|view| view.totals.promoted > 0)
        {
            break;
        }
        if since.elapsed() > RESTORE_MAX {
            return Err(format!("no entry was promoted within {RESTORE_MAX:?}").into());
        }
        sleep(Duration::from_millis(10)).await;
    }
    let took = since.elapsed();
    drop(stop);
    running.await?;
    Ok(took.as_secs_f64())
}
