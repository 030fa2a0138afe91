//! Measures a long line: the memory of an entry, the cost of a status request, and the delay of other clients during a
//! promotion.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use redis::aio::MultiplexedConnection;
use vestibule_domain::{
    change::{Change, Event, Version},
    id::{EntryId, QueueId},
    record::{EntryRecord, PutRules},
    score::WaitScore,
};
use vestibule_line::{Line, PROMOTE_CHUNK};
use vestibule_tests::lines::{configuration, fresh_queue, tick_order, visitor};

use super::{
    Bench,
    load::{Caller, open_line_callers, open_raw_callers, settings, throughput},
    ping::PingClient,
};
use crate::{
    BenchResult,
    figures::{median, print_figure, ratio},
    scene::flush_redis,
};

const STATUS_CALLS_EACH: usize = 800;
const ROUNDS: u32 = 11;
const VIEWS_EACH: u32 = 20;
/// The entries that are promoted in chunks.
const PROMOTED: u64 = 50_000;

/// Prints `bytes_per_waiting_entry`, `status_vs_zrank`, `check_in_vs_zrank`, `shared_view_vs_new_view`, `promote_1000_ms` and
/// `ping_worst_ms_during_promote_50000`.
pub(crate) async fn measure_long_line(bench: &Bench, entries: usize) -> BenchResult {
    let mut connection = flush_redis(&bench.url).await?;
    let ids: Arc<Vec<_>> = Arc::new((0..entries as u64).map(visitor).collect());
    let queue = fresh_queue();
    let before = read_used_memory(&mut connection).await?;
    let restored = configuration(&settings(10_000_000, 1_000_000));
    let records = waiting_records(&ids, SystemTime::now());
    bench
        .line
        .restore(&queue, &restored, 0, records.iter().collect())
        .await?;
    let weight = read_used_memory(&mut connection).await? - before;
    print_figure("bytes_per_waiting_entry", ratio(weight, entries as u64), 1);

    let status = measure_vs_zrank(bench, &queue, &ids, LookupKind::Status).await?;
    print_figure("status_vs_zrank", status, 3);
    // A tick sets up to which place visitors are called. Nearly all entries of the measurement are behind it.
    bench.line.promote(&queue, tick_order(0)).await?;
    let check_in = measure_vs_zrank(bench, &queue, &ids, LookupKind::CheckIn).await?;
    print_figure("check_in_vs_zrank", check_in, 3);
    let views = measure_views(bench, &mut connection, &queue).await?;
    print_figure("shared_view_vs_new_view", views, 3);
    measure_promote(bench, &queue).await
}

async fn read_used_memory(connection: &mut MultiplexedConnection) -> BenchResult<u64> {
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

/// The entry of the n-th request. The entries are spread over the whole line and are the same for both sides.
fn nth_id(ids: &[EntryId], n: usize) -> EntryId {
    ids[n * 7_919 % ids.len()]
}

async fn measure_zrank(bench: &Bench, queue: &QueueId, ids: &Arc<Vec<EntryId>>) -> BenchResult<f64> {
    let callers = open_raw_callers(bench, queue, ids).await?;
    let call = |mut caller: Caller<MultiplexedConnection>, n: usize| async move {
        let key = format!("vestibule:{{{}}}:waiting", caller.queue);
        let mut command = redis::cmd("ZRANK");
        command.arg(key).arg(nth_id(&caller.ids, n).to_member());
        let rank: Option<u64> = command.query_async(&mut caller.connection).await.expect("ZRANK");
        assert!(rank.is_some(), "the entry is waiting");
        caller
    };
    Ok(throughput(callers, bench.size.count(STATUS_CALLS_EACH), call).await)
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
    queue: &QueueId,
    ids: &Arc<Vec<EntryId>>,
    kind: LookupKind,
) -> BenchResult<f64> {
    let mut ratios = Vec::new();
    for round in 0..bench.size.count(ROUNDS) {
        // The order alternates, so that drift of the machine affects both alike.
        let ratio = if round % 2 == 0 {
            let raw = measure_zrank(bench, queue, ids).await?;
            measure_lookups(bench, queue, ids, kind).await? / raw
        } else {
            measure_lookups(bench, queue, ids, kind).await? / measure_zrank(bench, queue, ids).await?
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
) -> BenchResult<f64> {
    let callers = open_line_callers(bench, queue, ids).await?;
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
    Ok(throughput(callers, bench.size.count(STATUS_CALLS_EACH), call).await)
}

/// The time that Redis needs for the view of a queue which many processes share, relative to one that is counted
/// anew.
async fn measure_views(
    bench: &Bench,
    connection: &mut MultiplexedConnection,
    queue: &QueueId,
) -> BenchResult<f64> {
    let mut script_us = [0.0; 2];
    for _ in 0..bench.size.count(ROUNDS) {
        for (is_shared, total_us) in [false, true].into_iter().zip(&mut script_us) {
            let before = read_script_us(connection).await?;
            for _ in 0..bench.size.count(VIEWS_EACH) {
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
async fn read_script_us(connection: &mut MultiplexedConnection) -> BenchResult<f64> {
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

/// Promotes many entries in chunks while another client sends one `PING` after the other.
async fn measure_promote(bench: &Bench, queue: &QueueId) -> BenchResult {
    // No visitor checks in here, and only visitors who do are promoted.
    let mut without_presence = settings(10_000_000, 1_000_000);
    without_presence.presence_seconds = 0;
    let without_presence = configuration(&without_presence);
    bench.line.configure(queue, &without_presence, false).await?;
    // The token bucket of a restored queue is empty. One interval fills it.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let pings = PingClient::start(&bench.url).await?;
    let (mut promoted, mut chunks) = (0, Vec::new());
    while promoted < bench.size.count(PROMOTED) {
        let started = Instant::now();
        let promotion = bench.line.promote(queue, tick_order(PROMOTE_CHUNK)).await?;
        assert_eq!(promotion.promoted, PROMOTE_CHUNK, "a full chunk");
        chunks.push(started.elapsed().as_secs_f64() * 1_000.0);
        promoted += promotion.promoted;
    }
    let worst_ms = pings.stop().await?;
    print_figure(format!("promote_{PROMOTE_CHUNK}_ms"), median(chunks), 2);
    print_figure(format!("ping_worst_ms_during_promote_{promoted}"), worst_ms, 2);
    Ok(())
}
