//! The command `report`: what happened in a queue, also after a restore and after its end.

use serde_json::Value;
use vestibule_backup::{OperatorOrder, OrderLog};
use vestibule_domain::{id::QueueId, tally::TallySnapshot};
use vestibule_telemetry::clock::now_ms;
use vestibule_wire::commands::{OneOf, ReportFormat, ReportOrder, Whole};
use vestibule_wire::results::{CsvReport, to_value};

use super::{Admin, Problem, report_content::ReportContent, report_csv::format_csv};

impl Admin {
    /// Shows what happened in a queue since its generation began. The line has the latest numbers; those of the backup are
    /// a few seconds old, and stay when the queue is gone.
    pub(super) async fn report(&self, order: &ReportOrder) -> Result<Value, Problem> {
        let queue = &order.queue;
        let asked_generation = order.generation.map(Whole::get);
        let stored = self.backup.read_tally(queue, asked_generation).await?;
        let in_line = self.line.read_tally(queue).await;
        let log = self.backup.read_orders(queue).await?;
        let wanted = |snapshot: &TallySnapshot| {
            asked_generation.is_none_or(|generation| snapshot.generation == generation)
        };
        let in_line = in_line.ok().filter(wanted);
        let is_live = match (&in_line, &stored) {
            (Some(line), Some(stored)) => line.generation >= stored.generation,
            (line, _) => line.is_some(),
        };
        let newest = if is_live { in_line } else { stored };
        let Some(counted) = newest else {
            return Err(self.explain_missing_report(queue, asked_generation).await);
        };
        let view = if is_live {
            self.line.queue_view(queue).await.ok()
        } else {
            None
        };
        let now_ms = now_ms();
        let forget = |order: OperatorOrder| {
            if order.has_old_tokens(now_ms) {
                order.without_tokens()
            } else {
                order
            }
        };
        let log = OrderLog {
            orders: log.orders.into_iter().map(forget).collect(),
            count: log.count,
        };
        let report = ReportContent {
            queue,
            live: view.filter(|view| view.configuration.generation == counted.generation),
            counted,
            log,
        };
        Ok(match order.format {
            None | Some(OneOf(ReportFormat::Json)) => to_value(report.into_result()),
            Some(OneOf(ReportFormat::Csv)) => to_value(CsvReport {
                csv: format_csv(&report),
            }),
        })
    }

    async fn explain_missing_report(&self, queue: &QueueId, generation: Option<u32>) -> Problem {
        match (self.read_stored_queue(queue).await, generation) {
            (Err(problem), None) => problem,
            (_, Some(generation)) => Problem::invalid_field(
                "generation",
                format!("nothing is stored of generation {generation} of this queue"),
            ),
            // A queue that was just created, while the line does not answer.
            (Ok(_), None) => match self.line.read_tally(queue).await {
                Err(error) => error.into(),
                Ok(_) => Problem::no_time_left(),
            },
        }
    }
}
