//! Measures a line of a million entries: the memory of an entry, the cost of a status request, and the delay of
//! other clients during a promotion.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use redis::{
    Client,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use vestibule_domain::{
    change::{Change, Event, Version},
    id::{EntryId, QueueId},
    record::{EntryRecord, PutRules},
    score::WaitScore,
};
use vestibule_line::{Line, PROMOTE_CHUNK};
use vestibule_tests::lines::tick_order;

use crate::{
    Bench,
    load::{CONNECTIONS, configuration, entry_ids, fresh_queue, median, throughput},
    ping::PingClient,
};

const MILLION: usize = 1_000_000;
const STATUS_CALLS_EACH: usize = 800;
const ROUNDS: usize = 11;
const VIEWS_EACH: usize = 20;

/// Prints `bytes_per_waiting_entry`, `status_vs_zrank`, `check_in_vs_zrank`,
/// `shared_view_vs_new_view`, `promote_1000_ms` and `ping_worst_ms_during_promote_50000`.
pub(crate) async fn measure_million(bench: &Bench) -> Result<(), Box<dyn Error>> {
    let client = Client::open(bench.url.as_str())?;
    // To drop the entries of the earlier rounds takes Redis a while.
    let config = ConnectionManagerConfig::new().set_response_timeout(Some(Duration::from_mins(1)));
    let mut connection = client.get_connection_manager_with_config(config).await?;
    redis::cmd("FLUSHALL").query_async::<()>(&mut connection).await?;
    let ids = Arc::new(entry_ids(MILLION));
    let queue = fresh_queue();
    let before = read_used_memory(&mut connection).await?;
    bench
        .line
        .restore(
            &queue,
            &configuration(10_000_000, 1_000_000),
            0,
            waiting_records(&ids, SystemTime::now()).iter().collect(),
        )
        .await?;
    let weight = read_used_memory(&mut connection).await? - before;
    #[allow(clippy::cast_precision_loss)]
    let bytes_each = weight as f64 / MILLION as f64;
    println!("bytes_per_waiting_entry={bytes_each:.1}");

    let status = measure_vs_zrank(bench, &client, &queue, &ids, LookupKind::Status).await?;
    println!("status_vs_zrank={status:.3}");
    // A tick sets up to which place visitors are called. Nearly all entries of the measurement are behind it.
    bench.line.promote(&queue, tick_order(0)).await?;
    let check_in = measure_vs_zrank(bench, &client, &queue, &ids, LookupKind::CheckIn).await?;
    println!("check_in_vs_zrank={check_in:.3}");
    let views = measure_views(bench, &mut connection, &queue).await?;
    println!("shared_view_vs_new_view={views:.3}");
    measure_promote(bench, &client, &queue).await
}

async fn read_used_memory(connection: &mut ConnectionManager) -> Result<u64, Box<dyn Error>> {
    let info: String = redis::cmd("INFO").arg("memory").query_async(connection).await?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"))
        .ok_or("INFO names no used_memory")?;
    Ok(line.trim().parse()?)
}

/// The records of entries that joined one after the other, an hour ago: a record from the future is refused.
fn waiting_records(ids: &[EntryId], now: SystemTime) -> Vec<EntryRecord> {
    let mut last_order = 0;
    let since_1970 = now.duration_since(UNIX_EPOCH).expect("the clock is after 1970");
    let joined_at_ms = u64::try_from(since_1970.as_millis()).expect("a time") - 3_600_000;
    let rules = PutRules {
        grace_seconds: 0,
        retain_hours: 24,
    };
    let record = |id: &EntryId| {
        let place = WaitScore::next(last_order, joined_at_ms);
        last_order = place.order();
        let version = Version { epoch: 1, v: 1 };
        let change = Change {
            id: *id,
            version,
            at_ms: joined_at_ms,
            event: Event::Entered { place, after: None },
            source: None,
        };
        EntryRecord::of_change(&change, rules)
    };
    ids.iter().map(record).collect()
}

struct Caller<C> {
    connection: C,
    ids: Arc<Vec<EntryId>>,
    queue: QueueId,
}

/// The entry of the n-th request. The entries are spread over the whole line and are the same for both sides.
fn nth_id(ids: &[EntryId], n: usize) -> EntryId {
    ids[n * 7_919 % ids.len()]
}

async fn measure_zrank(
    client: &Client,
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
) -> Result<f64, Box<dyn Error>> {
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = client.get_connection_manager().await?;
        callers.push(Caller {
            connection,
            ids: ids.clone(),
            queue: queue.clone(),
        });
    }
    let call = |mut caller: Caller<ConnectionManager>, n: usize| async move {
        let key = format!("vestibule:{{{}}}:waiting", caller.queue);
        let mut command = redis::cmd("ZRANK");
        command.arg(key).arg(nth_id(&caller.ids, n).to_member());
        let rank: Option<u64> = command.query_async(&mut caller.connection).await.expect("ZRANK");
        assert!(rank.is_some(), "the entry is waiting");
        caller
    };
    Ok(throughput(callers, STATUS_CALLS_EACH, call).await)
}

/// How a caller asks for the status of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookupKind {
    /// As the operator does.
    Status,
    /// As the visitor does, who checks in by it.
    CheckIn,
}

/// The calls per second, relative to a raw `ZRANK`: the median over rounds.
async fn measure_vs_zrank(
    bench: &Bench,
    client: &Client,
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
    kind: LookupKind,
) -> Result<f64, Box<dyn Error>> {
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        // The order alternates, so that drift of the machine affects both alike.
        let ratio = if round % 2 == 0 {
            let raw = measure_zrank(client, queue, ids).await?;
            measure_lookups(bench, queue, ids, kind).await? / raw
        } else {
            measure_lookups(bench, queue, ids, kind).await? / measure_zrank(client, queue, ids).await?
        };
        ratios.push(ratio);
    }
    Ok(median(ratios))
}

async fn measure_lookups(
    bench: &Bench,
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
    kind: LookupKind,
) -> Result<f64, Box<dyn Error>> {
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = Line::connect(&bench.url).await?;
        callers.push(Caller {
            connection,
            ids: ids.clone(),
            queue: queue.clone(),
        });
    }
    let call = move |caller: Caller<Line>, n: usize| async move {
        let id = nth_id(&caller.ids, n);
        let (line, queue) = (&caller.connection, &caller.queue);
        let answer = match kind {
            LookupKind::Status => line.status(queue, id).await.map(drop),
            LookupKind::CheckIn => line.check_in(queue, id).await.map(drop),
        };
        answer.expect("the queue is in the line");
        caller
    };
    Ok(throughput(callers, STATUS_CALLS_EACH, call).await)
}

/// The time that Redis needs for the view of a queue which many processes share, relative to one that is counted
/// anew.
async fn measure_views(
    bench: &Bench,
    connection: &mut ConnectionManager,
    queue: &QueueId,
) -> Result<f64, Box<dyn Error>> {
    let mut script_us = [0.0; 2];
    for _ in 0..ROUNDS {
        for (is_shared, total_us) in [false, true].into_iter().zip(&mut script_us) {
            let before = read_script_us(connection).await?;
            for _ in 0..VIEWS_EACH {
                if is_shared {
                    bench.line.recent_queue_view(queue).await?;
                } else {
                    bench.line.queue_view(queue).await?;
                }
            }
            *total_us += read_script_us(connection).await? - before;
        }
    }
    let [new_us, shared_us] = script_us;
    Ok(shared_us / new_us)
}

/// How long the server has run scripts, in microseconds.
async fn read_script_us(connection: &mut ConnectionManager) -> Result<f64, Box<dyn Error>> {
    let info: String = redis::cmd("INFO")
        .arg("commandstats")
        .query_async(connection)
        .await?;
    let stats = info
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:")?.split("usec=").nth(1))
        .ok_or("INFO names no EVALSHA")?;
    Ok(stats.split(',').next().unwrap_or_default().parse()?)
}

/// Promotes 50,000 entries in chunks while another client sends one `PING` after the other.
async fn measure_promote(bench: &Bench, client: &Client, queue: &QueueId) -> Result<(), Box<dyn Error>> {
    // No visitor checks in here, and only visitors who do are promoted.
    let mut without_presence = configuration(10_000_000, 1_000_000);
    without_presence.settings.presence_seconds = 0;
    "without-presence".clone_into(&mut without_presence.revision);
    bench.line.configure(queue, &without_presence, false).await?;
    // The token bucket of a restored queue is empty. One interval fills it.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let pings = PingClient::start(client).await?;
    let (mut promoted, mut chunks) = (0, Vec::new());
    while promoted < 50_000 {
        let started = Instant::now();
        let promotion = bench.line.promote(queue, tick_order(PROMOTE_CHUNK)).await?;
        assert_eq!(promotion.promoted, PROMOTE_CHUNK, "a full chunk");
        chunks.push(started.elapsed().as_secs_f64() * 1_000.0);
        promoted += promotion.promoted;
    }
    let worst_ms = pings.stop().await?;
    println!("promote_1000_ms={:.2}", median(chunks));
    println!("ping_worst_ms_during_promote_50000={worst_ms:.2}");
    Ok(())
}
