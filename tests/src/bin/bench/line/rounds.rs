//! Measures requests to enter against raw `ZADD`, and against the usual layout with a user index beside the
//! line.

use std::sync::{Arc, LazyLock};

use redis::{Script, aio::MultiplexedConnection};
use vestibule_domain::id::EntryId;
use vestibule_line::{Arrival, Line};
use vestibule_tests::lines::{configuration, fresh_queue, visitor};

use super::{
    Bench,
    load::{CONNECTIONS, Caller, open_line_callers, open_raw_callers, settings, throughput},
};
use crate::{
    BenchResult,
    figures::{median, print_figure},
};

const CALLS_EACH: usize = 1_000;
const ROUNDS: u32 = 9;

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
pub(crate) async fn measure_enter(bench: &Bench) -> BenchResult {
    let calls = CONNECTIONS * bench.size.count(CALLS_EACH);
    let ids = Arc::new((0..calls as u64).map(visitor).collect());
    let (mut enter_ratios, mut layout_ratios, mut zadd_rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.size.count(ROUNDS) {
        let raw = measure_zadd(bench, &ids).await?;
        enter_ratios.push(measure_enter_script(bench, &ids).await? / raw);
        layout_ratios.push(measure_seed_layout(bench, &ids).await? / raw);
        zadd_rates.push(raw);
    }
    print_figure("zadd_rps", median(zadd_rates), 0);
    print_figure("enter_vs_zadd", median(enter_ratios), 3);
    print_figure("seed_layout_vs_zadd", median(layout_ratios), 3);
    Ok(())
}

async fn measure_zadd(bench: &Bench, ids: &Arc<Vec<EntryId>>) -> BenchResult<f64> {
    let callers = open_raw_callers(bench, &fresh_queue(), ids).await?;
    let call = |mut caller: Caller<MultiplexedConnection>, n: usize| async move {
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
    Ok(throughput(callers, bench.size.count(CALLS_EACH), call).await)
}

async fn measure_seed_layout(bench: &Bench, ids: &Arc<Vec<EntryId>>) -> BenchResult<f64> {
    static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(SEED_LAYOUT));
    let callers = open_raw_callers(bench, &fresh_queue(), ids).await?;
    let call = |mut caller: Caller<MultiplexedConnection>, n: usize| async move {
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
    Ok(throughput(callers, bench.size.count(CALLS_EACH), call).await)
}

async fn measure_enter_script(bench: &Bench, ids: &Arc<Vec<EntryId>>) -> BenchResult<f64> {
    let queue = fresh_queue();
    let configuration = configuration(&settings(1, 1));
    bench.line.configure(&queue, &configuration, true).await?;
    let callers = open_line_callers(bench, &queue, ids).await?;
    let call = |caller: Caller<Line>, n: usize| async move {
        caller
            .connection
            .enter(&caller.queue, caller.ids[n], Arrival::Ordinary)
            .await
            .expect("enter");
        caller
    };
    Ok(throughput(callers, bench.size.count(CALLS_EACH), call).await)
}
