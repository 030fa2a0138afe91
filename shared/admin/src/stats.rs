//! The commands `list` and `stats`: show the numbers of queues.

use futures_util::{StreamExt, stream};
use serde_json::Value;
use vestibule_domain::{id::QueueId, tally::Tally};
use vestibule_line::{JournalLimits, OperatorView};
use vestibule_wire::results::{
    DurationTotals, Imbalance, JournalCapacity, LastLoad, ListedNumbers, QueueList, QueueNumbers, QueueRow,
    QueueStats, StayTotals, to_value,
};

use vestibule_wire::commands::ListOrder;

use super::{Admin, Problem};

/// How many queues are read at the same time.
pub(super) const CONCURRENT_READS_MAX: usize = 16;

/// The most queues of one answer. A row has about 400 bytes, and an answer of Lambda 6 MB.
const LISTED_MAX: usize = 10_000;

impl Admin {
    /// Lists the queues with their counts, its pace in force and the wait of the last in line.
    pub(super) async fn list(&self, order: &ListOrder) -> Result<Value, Problem> {
        let prefix = order.prefix.as_deref().unwrap_or_default().trim_end_matches('*');
        let mut queues = self.backup.list_queues().await?;
        queues.retain(|queue| {
            let is_beyond = order.after.as_ref().is_none_or(|after| queue > after);
            queue.as_str().starts_with(prefix) && is_beyond
        });
        queues.sort();
        let has_more = queues.len() > LISTED_MAX;
        queues.truncate(LISTED_MAX);
        let last = queues.last().map(ToString::to_string);
        let queues: Vec<_> = stream::iter(queues)
            .map(|queue| async move { self.list_row(&queue).await })
            .buffered(CONCURRENT_READS_MAX)
            .collect()
            .await;
        let after = last.filter(|_| has_more);
        Ok(to_value(QueueList { queues, after }))
    }

    /// Returns the row of one queue. A queue that does not answer gets a row with its problem and
    /// does not hide the others.
    async fn list_row(&self, queue: &QueueId) -> QueueRow {
        let (numbers, problem) = match self.line.queue_view(queue).await {
            Ok(view) => (Some(list_numbers(&view)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        QueueRow {
            queue: queue.to_string(),
            numbers,
            problem,
        }
    }

    /// Shows all numbers that the line keeps about one queue.
    pub(super) async fn stats(&self, queue: &QueueId) -> Result<Value, Problem> {
        match self.read_stored_queue(queue).await {
            // The line has all the numbers.
            Err(problem) if problem.is_of_absent_backup() => {}
            stored => drop(stored?),
        }
        let (view, counted) = tokio::try_join!(self.line.queue_view(queue), self.line.read_tally(queue))?;
        let unsaved = self.line.unsaved_switches(queue).await?;
        let unsaved = unsaved.map(|switches| switches.names).unwrap_or_default();
        Ok(to_value(describe_queue(queue, &view, &counted.tally, unsaved)))
    }
}

fn list_numbers(view: &OperatorView) -> ListedNumbers {
    ListedNumbers {
        numbers: count_queue(view),
        completed: view.totals.completed,
        entrance: view.configuration.settings.entrance_at(view.now_ms),
        clocks_apart: view.clocks.apart,
    }
}

fn count_queue(view: &OperatorView) -> QueueNumbers {
    let settings = &view.configuration.settings;
    let pace = view.pace_in_force().pace;
    let waiting = view.in_line();
    QueueNumbers {
        now_ms: view.now_ms,
        state: view.state(),
        mode: settings.mode,
        paused: settings.paused,
        waiting,
        called: view.called,
        present: view.present,
        absent: view.absent,
        ready: view.ready,
        active: view.active,
        held: view.held,
        capacity: settings.capacity,
        batch: pace.batch,
        interval_seconds: pace.interval_ms / 1_000,
        estimated_wait_seconds: view.estimate(&view.forecast(), waiting).filter(|_| waiting > 0),
    }
}

fn describe_queue(
    queue: &QueueId,
    view: &OperatorView,
    tally: &Tally,
    unsaved_switches: Vec<String>,
) -> QueueStats {
    let limits = JournalLimits::default();
    let age_ms = |at_ms: u64| (at_ms > 0).then(|| view.now_ms.saturating_sub(at_ms));
    QueueStats {
        queue: queue.to_string(),
        numbers: count_queue(view),
        full: view.is_full(),
        service_down: view.pace_in_force().is_service_down,
        limited_by: view.limited_by(),
        unsettled_ends: view.unsettled_ends,
        journal: view.journal_len,
        journal_limits: JournalCapacity {
            newcomers: limits.new_entries,
            promotions: limits.all_changes,
        },
        dead_lettered: view.dead_letters,
        heartbeat_age_ms: age_ms(view.heartbeat_ms),
        fallback_tick_age_ms: age_ms(view.fallback_ticked_at_ms),
        bucket_tokens: view.bucket_tokens(),
        served_per_second: view.forecast().observed_per_second(),
        clock: view.clocks,
        totals: tally.totals,
        waits: DurationTotals {
            count: tally.waits.count(),
            sum_ms: tally.waits.sum_ms(),
        },
        stays: StayTotals {
            count: tally.stays.count(),
            sum_ms: tally.stays.sum_ms(),
            p50_ms: tally.stays.percentile_ms(50),
            p90_ms: tally.stays.percentile_ms(90),
        },
        imbalance: Imbalance {
            visits: view.imbalance.visits,
            at_check: view.imbalance.at_check,
        },
        check_due_age_ms: age_ms(view.check_due_ms),
        load: view.valid_load().map(|load| LastLoad {
            tps: load.report.tps,
            latency_ms: load.report.latency_ms,
            healthy: load.report.healthy,
            age_ms: load.age_ms(view.now_ms),
        }),
        epoch: view.configuration.epoch,
        generation: view.configuration.generation,
        unsaved_switches,
    }
}
