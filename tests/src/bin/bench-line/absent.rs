//! Measures how long a tick delays other clients of Redis while many entries at the head of the line are absent.

use std::{error::Error, time::Duration};

use redis::Client;
use vestibule_tests::absent_head::AbsentHead;

use crate::{Bench, load::median, ping::PingClient};

const ABSENT: u64 = 100_000;
/// The number of entries that a tick promotes.
const BATCH: u64 = 50;
const TICKS: u64 = 20;
const ROUNDS: usize = 5;
/// The time in which the `PING`s have begun.
const SETTLING: Duration = Duration::from_millis(2);

/// Prints `ping_worst_ms_beside_tick`, the median over many ticks, the same with 100,000 absent entries at the head, and
/// the ratio of the two.
pub(crate) async fn measure_absent(bench: &Bench) -> Result<(), Box<dyn Error>> {
    let client = Client::open(bench.url.as_str())?;
    let (mut usual, mut beside_absent) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        usual.extend(measure_ticks(bench, &client, 0).await?);
        beside_absent.extend(measure_ticks(bench, &client, ABSENT).await?);
    }
    let (usual_ms, absent_ms) = (median(usual), median(beside_absent));
    println!("ping_worst_ms_beside_tick={usual_ms:.3}");
    println!("ping_worst_ms_beside_tick_with_{ABSENT}_absent={absent_ms:.3}");
    println!("ping_worst_absent_ratio={:.2}", absent_ms / usual_ms);
    Ok(())
}

/// The slowest `PING` beside each of some ticks, in milliseconds.
async fn measure_ticks(bench: &Bench, client: &Client, absent: u64) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut head = AbsentHead::open(&bench.url, absent).await;
    let mut worst = Vec::new();
    for _ in 0..TICKS {
        // Only so many visitors are present by entering. Others would have to check in again once they are called.
        head.add_present_visitors(BATCH).await;
        let pings = PingClient::start(client).await?;
        tokio::time::sleep(SETTLING).await;
        let promotion = head.tick(BATCH).await;
        worst.push(pings.stop().await?);
        assert_eq!(promotion.promoted, BATCH, "a full batch: {promotion:?}");
    }
    Ok(worst)
}
