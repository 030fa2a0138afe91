//! Measures how long a tick delays other clients of Redis while many entries at the head of the line are absent.

use std::time::Duration;

use vestibule_tests::absent_head::AbsentHead;

use super::{Bench, ping::PingClient};
use crate::{
    BenchResult,
    figures::{median, print_figure},
};

const ABSENT: u64 = 100_000;
/// The number of entries that a tick promotes.
const BATCH: u64 = 50;
const TICKS: u64 = 20;
const ROUNDS: u32 = 5;
/// The time in which the `PING`s have begun.
const SETTLING: Duration = Duration::from_millis(2);

/// Prints `ping_worst_ms_beside_tick`, the median over many ticks, the same with 100,000 absent entries at the head, and
/// the ratio of the two.
pub(crate) async fn measure_absent(bench: &Bench) -> BenchResult {
    let absent = bench.size.count(ABSENT);
    let (mut usual, mut beside_absent) = (Vec::new(), Vec::new());
    for _ in 0..bench.size.count(ROUNDS) {
        usual.extend(measure_ticks(bench, 0).await?);
        beside_absent.extend(measure_ticks(bench, absent).await?);
    }
    let (usual_ms, absent_ms) = (median(usual), median(beside_absent));
    print_figure("ping_worst_ms_beside_tick", usual_ms, 3);
    print_figure(
        format!("ping_worst_ms_beside_tick_with_{absent}_absent"),
        absent_ms,
        3,
    );
    print_figure("ping_worst_absent_ratio", absent_ms / usual_ms, 2);
    Ok(())
}

/// The slowest `PING` beside each of some ticks, in milliseconds.
async fn measure_ticks(bench: &Bench, absent: u64) -> BenchResult<Vec<f64>> {
    let mut head = AbsentHead::open(&bench.url, absent).await;
    let mut worst = Vec::new();
    for _ in 0..bench.size.count(TICKS) {
        // Only so many visitors are present by entering. Others would have to check in again once they are called.
        head.add_present_visitors(BATCH).await;
        let pings = PingClient::start(&bench.url).await?;
        tokio::time::sleep(SETTLING).await;
        let promotion = head.tick(BATCH).await;
        worst.push(pings.stop().await?);
        assert_eq!(promotion.promoted, BATCH, "a full batch: {promotion:?}");
    }
    Ok(worst)
}
