//! Entering against promotion, by Kendall's tau.

use std::{collections::HashMap, ops::Range, time::Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use vestibule_domain::{
    change::Event,
    id::{EntryId, QueueId},
};
use vestibule_line::{Arrival, Line};
use vestibule_tests::lines::{tick_order, visitor};

use super::create_queue;
use crate::{
    BenchResult,
    figures::{print_figure, ratio},
    size::Size,
};

/// Visitors who enter at the same time.
const ENTRANTS: u64 = 64;
/// How many times each of them enters, every time as another visitor.
const ENTRIES_PER_ENTRANT: u64 = 63;
/// The calls of an entrant follow one another, so two make a pair.
const ENTRIES_PER_ENTRANT_MIN: u64 = 2;
/// Calls of check-ins that are under way at once.
const CHECK_INS: usize = 64;
/// The journal records that are read at once.
const RECORDS_MAX: usize = 10_000;
/// Rounds of check-ins without a promotion, after which the line does not move.
const ROUNDS_WITHOUT_PROMOTION_MAX: u32 = 100;

/// One call of entering.
struct Entering {
    id: EntryId,
    began: Instant,
    ended: Instant,
}

/// Lets concurrent visitors enter, keeps all of them present, promotes them one at a time, and compares the orders.
pub(super) async fn measure(line: &Line, size: Size) -> BenchResult {
    let entries_each = size.count_of_at_least(ENTRIES_PER_ENTRANT, ENTRIES_PER_ENTRANT_MIN);
    let settings =
        json!({ "capacity": 1_000_000, "batch": 1_000_000, "interval_seconds": 1, "fast_track": false });
    let queue = create_queue(line, settings).await?;
    let enterings: Vec<Entering> = stream::iter(0..ENTRANTS)
        .map(|entrant| enter_repeatedly(line, &queue, entrant * entries_each..(entrant + 1) * entries_each))
        .buffer_unordered(ENTRANTS.try_into()?)
        .try_concat()
        .await?;
    let ranks = promote_all(line, &queue, &enterings).await?;
    let (pairs, inversions) = compare(&enterings, &ranks);
    println!("entrants={ENTRANTS}");
    println!("entries={}", enterings.len());
    println!("pairs={pairs}");
    println!("inversions={inversions}");
    print_figure("tau", 1.0 - 2.0 * ratio(inversions, pairs), 6);
    Ok(())
}

async fn enter_repeatedly(line: &Line, queue: &QueueId, visitors: Range<u64>) -> BenchResult<Vec<Entering>> {
    let mut enterings = Vec::new();
    for number in visitors {
        let id = visitor(number);
        let began = Instant::now();
        line.enter(queue, id, Arrival::Ordinary).await?;
        let ended = Instant::now();
        enterings.push(Entering { id, began, ended });
    }
    Ok(enterings)
}

/// Promotes the whole line, one entry at a time, and returns the rank of each.
async fn promote_all(
    line: &Line,
    queue: &QueueId,
    enterings: &[Entering],
) -> BenchResult<HashMap<EntryId, usize>> {
    let mut ranks = HashMap::new();
    let mut rounds = 0;
    while ranks.len() < enterings.len() {
        let mut has_promoted = false;
        while line.promote(queue, tick_order(1)).await?.promoted == 1 {
            has_promoted = true;
        }
        for record in line.journal_records(queue, RECORDS_MAX).await? {
            let promoted = record
                .changes
                .iter()
                .filter(|change| matches!(change.event, Event::Promoted { .. }));
            for change in promoted {
                let rank = ranks.len();
                ranks.entry(change.id).or_insert(rank);
            }
            line.acknowledge(queue, &[record.key], &[]).await?;
        }
        rounds = if has_promoted { 0 } else { rounds + 1 };
        if rounds > ROUNDS_WITHOUT_PROMOTION_MAX {
            return Err("the line does not move".into());
        }
        let waiting = enterings
            .iter()
            .filter(|entering| !ranks.contains_key(&entering.id));
        stream::iter(waiting.map(Ok))
            .try_for_each_concurrent(CHECK_INS, async |entering| {
                line.check_in(queue, entering.id).await.map(drop)
            })
            .await?;
    }
    Ok(ranks)
}

/// Counts the pairs of calls that do not overlap, and those of them that were promoted in the other order.
fn compare(enterings: &[Entering], ranks: &HashMap<EntryId, usize>) -> (u64, u64) {
    let (mut pairs, mut inversions) = (0, 0);
    for first in enterings {
        for second in enterings.iter().filter(|second| first.ended < second.began) {
            pairs += 1;
            inversions += u64::from(ranks[&first.id] > ranks[&second.id]);
        }
    }
    (pairs, inversions)
}
