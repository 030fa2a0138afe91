//! Measures how long the restore of a lost Redis takes: each half by itself, and the time from `FLUSHALL` to
//! the first promotion.
//!
//! It prints one `name=value` a line. Run it with `make bench-restore`, which starts a Redis and a `DynamoDB`
//! emulator of its own. The emulator is a process in Python, and the half that reads the table is as fast as it
//! is.

mod process;
mod table;

use std::{
    env,
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::sleep};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{
    configuration::Configuration,
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_engine::{restore::read_restored_entries, sync::SettingsPolicy};
use vestibule_line::{ConfigureOutcome, Line};
use vestibule_promoter::Promoter;
use vestibule_tests::processor_time::process_seconds;

const ENTRIES: usize = 1_000_000;
/// The time limit for the whole restore.
const RESTORE_MAX: Duration = Duration::from_mins(10);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let variable = |name| env::var(name).map_err(|_| format!("{name} is not set: run `make bench-restore`"));
    let (redis_url, table_url) = (variable("TEST_REDIS_URL")?, variable("TEST_DYNAMODB_URL")?);
    let entries = match env::args().nth(1) {
        Some(count) => count.parse()?,
        None => ENTRIES,
    };
    // Warnings explain a slow restore.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .init();
    let line = Line::connect(&redis_url).await?;
    let backup = DynamoDbBackup::connect(Connection {
        endpoint_url: Some(table_url.clone()),
        tables: TableNames::default(),
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
    table::fill_table(&table_url, &partition, entries).await?;
    eprintln!("{entries} entries are in the table");

    process::limit_cpu()?;
    let since = Instant::now();
    let found = read_restored_entries(&backup, &partition).await?;
    println!("table_read_1m_s={:.2}", since.elapsed().as_secs_f64());
    assert_eq!(found.waiting_count(), entries);

    let again = Configuration {
        epoch: 2,
        ..configuration
    };
    let since = Instant::now();
    let configured = line.restore(&queue, &again, 0, found).await?;
    println!("redis_restore_1m_s={:.2}", since.elapsed().as_secs_f64());
    assert_eq!(configured, ConfigureOutcome::Created);

    process::reset_peak_rss()?;
    let cpu_before = process_seconds("self")?;
    let restore_seconds = measure_restore(&redis_url, &line, backup, &queue).await?;
    println!("flush_to_first_promotion_s={restore_seconds:.2}");
    println!("restore_cpu_s={:.2}", process_seconds("self")? - cpu_before);
    println!("restore_peak_rss_mb={:.0}", process::peak_rss_mb()?);
    Ok(())
}

/// The time from `FLUSHALL` to the first promotion, with a running promoter, in seconds.
async fn measure_restore(
    redis_url: &str,
    line: &Line,
    backup: DynamoDbBackup,
    queue: &QueueId,
) -> Result<f64, Box<dyn Error>> {
    let client = redis::Client::open(redis_url)?;
    let mut link = client.get_multiplexed_async_connection().await?;
    redis::cmd("FLUSHALL").query_async::<()>(&mut link).await?;
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
