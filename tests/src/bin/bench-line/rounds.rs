//! Measures requests to enter against raw `ZADD`, and against the usual layout with a user index beside the
//! line.

use std::{error::Error, sync::Arc};

use redis::{Client, Script, aio::ConnectionManager};
use vestibule_domain::id::{EntryId, QueueId};
use vestibule_line::{Arrival, Line};

use crate::{
    Bench,
    load::{CONNECTIONS, configuration, entry_ids, fresh_queue, median, throughput},
};

const CALLS_EACH: usize = 1_000;
const ROUNDS: usize = 9;

/// The usual layout of a waiting room: an index from user to token with an expiry, beside the sorted set.
const SEED_LAYOUT: &str = "#!lua
local index, line = KEYS[1], KEYS[2]
local token, score, ttl_seconds = ARGV[1], ARGV[2], ARGV[3]
local known = redis.call('GET', index)
if known then
  return {known, redis.call('ZRANK', line, known)}
end
redis.call('SET', index, token, 'EX', ttl_seconds)
redis.call('ZADD', line, score, token)
return {token, redis.call('ZRANK', line, token)}
";

/// Prints `zadd_rps`, `enter_vs_zadd` and `seed_layout_vs_zadd`: medians over rounds in which the three
/// alternate.
pub(crate) async fn measure_enter(bench: &Bench) -> Result<(), Box<dyn Error>> {
    let ids = Arc::new(entry_ids(CONNECTIONS * CALLS_EACH));
    let (mut enter_ratios, mut layout_ratios, mut zadd_rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let raw = measure_zadd(bench, ids.clone()).await?;
        enter_ratios.push(measure_enter_script(bench, ids.clone()).await? / raw);
        layout_ratios.push(measure_seed_layout(bench, ids.clone()).await? / raw);
        zadd_rates.push(raw);
    }
    println!("zadd_rps={:.0}", median(zadd_rates));
    println!("enter_vs_zadd={:.3}", median(enter_ratios));
    println!("seed_layout_vs_zadd={:.3}", median(layout_ratios));
    Ok(())
}

/// One of the callers: a connection and the input of its calls.
struct Caller<C> {
    connection: C,
    ids: Arc<Vec<EntryId>>,
    queue: QueueId,
}

async fn open_callers(
    bench: &Bench,
    ids: &Arc<Vec<EntryId>>,
) -> Result<Vec<Caller<ConnectionManager>>, Box<dyn Error>> {
    let (client, queue) = (Client::open(bench.url.as_str())?, fresh_queue());
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = client.get_connection_manager().await?;
        callers.push(Caller {
            connection,
            ids: ids.clone(),
            queue: queue.clone(),
        });
    }
    Ok(callers)
}

async fn measure_zadd(bench: &Bench, ids: Arc<Vec<EntryId>>) -> Result<f64, Box<dyn Error>> {
    let callers = open_callers(bench, &ids).await?;
    let call = |mut caller: Caller<ConnectionManager>, n: usize| async move {
        let mut command = redis::cmd("ZADD");
        command
            .arg(caller.queue.as_str())
            .arg(736_949_953_421_312 + n)
            .arg(caller.ids[n].to_member());
        command
            .query_async::<()>(&mut caller.connection)
            .await
            .expect("ZADD");
        caller
    };
    Ok(throughput(callers, CALLS_EACH, call).await)
}

async fn measure_seed_layout(bench: &Bench, ids: Arc<Vec<EntryId>>) -> Result<f64, Box<dyn Error>> {
    static SCRIPT: std::sync::LazyLock<Script> = std::sync::LazyLock::new(|| Script::new(SEED_LAYOUT));
    let callers = open_callers(bench, &ids).await?;
    let call = |mut caller: Caller<ConnectionManager>, n: usize| async move {
        let (queue, token) = (caller.queue.as_str(), caller.ids[n].to_member());
        let mut invocation = SCRIPT.prepare_invoke();
        invocation
            .key(format!("{{{queue}}}:user:{n}"))
            .key(format!("{{{queue}}}:line"));
        invocation.arg(token).arg(736_949_953_421_312 + n).arg(3_600);
        invocation
            .invoke_async::<redis::Value>(&mut caller.connection)
            .await
            .expect("the seed layout");
        caller
    };
    Ok(throughput(callers, CALLS_EACH, call).await)
}

async fn measure_enter_script(bench: &Bench, ids: Arc<Vec<EntryId>>) -> Result<f64, Box<dyn Error>> {
    let queue = fresh_queue();
    bench.line.configure(&queue, &configuration(1, 1), true).await?;
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        let connection = Line::connect(&bench.url).await?;
        callers.push(Caller {
            connection,
            ids: ids.clone(),
            queue: queue.clone(),
        });
    }
    let call = |caller: Caller<Line>, n: usize| async move {
        caller
            .connection
            .enter(&caller.queue, caller.ids[n], Arrival::Ordinary)
            .await
            .expect("enter");
        caller
    };
    Ok(throughput(callers, CALLS_EACH, call).await)
}
