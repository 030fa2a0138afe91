//! Two lives of a queue under chaos: it is created, sold out, finished, reported, deleted, and created again under its
//! name. Nothing of the first life may count in the second.
//!
//! A run has these parts, each with faults of its own: the first sale; the report, before which Redis is lost; the
//! deletion and the second creation; the second sale. From the deletion on, the visitors of the first life go on to
//! show what they still have. No turn and no session ends by itself in a run, so the totals of a report follow from what
//! visitors were told.

mod checks;
mod old_entries;
mod operator;
mod plan;
mod sale;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};

use self::{
    old_entries::OldEntries,
    operator::Operator,
    plan::{LivesPlan, PROMOTERS},
    sale::{Sale, VisitorView, count_totals},
};
use super::{actors::visitor_id, plan::ScheduledFault, world::World};
use crate::entries::now_ms;

/// The result of a seed.
pub struct LivesOutcome {
    plan: LivesPlan,
    first_report: Value,
    violations: Vec<String>,
    duration: Duration,
}

/// One run: the world and those who act in it all the time.
struct Lives {
    plan: LivesPlan,
    world: Arc<World>,
    operator: Operator,
    stopped: watch::Receiver<bool>,
    violations: Vec<String>,
}

/// Runs the plan of a seed.
pub async fn run_seed(seed: u64) -> LivesOutcome {
    let started = Instant::now();
    let plan = LivesPlan::draw(seed);
    let world = World::open(PROMOTERS, &plan.settings()).await;
    let (stop, stopped) = watch::channel(false);
    let promoters = world.start_promoters(PROMOTERS, &stopped);
    let mut lives = Lives {
        operator: Operator::new(&world),
        plan,
        world,
        stopped,
        violations: Vec::new(),
    };
    let (first_views, first_report) = lives.run_first_sale().await;
    let old = OldEntries::new(&lives.world, &first_views);
    let trying = lives.replace_queue(&old, &first_report).await;
    lives.run_second_sale(&first_views, &first_report).await;
    lives.check_epoch(&old).await;

    stop.send_replace(true);
    lives.world.deployment.lambda.kill("promoter");
    for task in promoters.into_iter().chain([trying]) {
        task.await.expect("the task does not panic");
    }
    lives.violations.extend(old.violations());
    LivesOutcome {
        plan: lives.plan,
        first_report,
        violations: lives.violations,
        duration: started.elapsed(),
    }
}

impl Lives {
    /// Sells out, finishes the queue, loses Redis and reads the report.
    async fn run_first_sale(&mut self) -> (Vec<VisitorView>, Value) {
        let ids = self.plan.sales[0].iter().map(|_| visitor_id()).collect();
        let sale = Sale::begin(&self.world, &self.plan.sales[0], ids);
        let selling = async {
            sale.await_sold_out().await;
            self.operator.finish().await;
            sale.await_ended().await;
        };
        tokio::join!(selling, self.world.run_faults(&self.plan.faults_in_sale));
        let views = sale.stop().await;
        let report = self.report_after_loss(0, &views).await;
        self.check_totals(0, &report, &views);
        (views, report)
    }

    /// Waits until the totals are stored, loses Redis, and reads the report. It must be as before the loss.
    async fn report_after_loss(&mut self, loss: usize, views: &[VisitorView]) -> Value {
        let before = self.operator.report_with_totals(&count_totals(views)).await;
        let mut expected = before["totals"].clone();
        if let Some(totals) = expected.as_object_mut() {
            totals.remove("let_in");
        }
        self.operator.await_stored_totals(&expected).await;
        self.lose_redis(loss).await;
        let after = self.operator.report(None).await;
        self.check_same_report("after Redis was lost", &before, &after);
        after
    }

    /// Lets Redis lose all or its last changes while no visitor acts.
    async fn lose_redis(&self, loss: usize) {
        let fault = self.plan.losses_in_rest[loss].clone();
        self.world.run_faults(&[ScheduledFault { at_ms: 0, fault }]).await;
    }

    /// Deletes the queue and creates it again. The visitors of the first life go on to try from then on.
    async fn replace_queue(&mut self, old: &OldEntries, first_report: &Value) -> JoinHandle<()> {
        let settings = self.plan.settings();
        let mut trying = None;
        let replacing = async {
            self.operator.delete().await;
            old.note_deleted();
            trying = Some(old.keep_trying(&self.stopped));
            old.expect_told_of_deletion().await;
            let reported = self.operator.report(None).await;
            let created = self.operator.create(&settings).await;
            old.note_created_again();
            (reported, created)
        };
        let ((reported, created), ()) =
            tokio::join!(replacing, self.world.run_faults(&self.plan.faults_in_handover));
        self.check_same_report("after the deletion", first_report, &reported);
        if created["generation"].as_u64() <= first_report["generation"].as_u64() {
            self.violations
                .push(format!("the second life has no later generation: {created}"));
        }
        trying.expect("the queue was deleted")
    }

    /// Loses Redis before the first visitor of the second life, sells again, and checks that all numbers and names are of
    /// the second life alone.
    async fn run_second_sale(&mut self, first_views: &[VisitorView], first_report: &Value) {
        let begun_ms = now_ms();
        let visitors = self.plan.sales[1].clone();
        // Every other visitor was in the first sale, too.
        let known = first_views.iter().map(|view| view.id.clone());
        let ids: Vec<_> = known
            .zip([true, false].into_iter().cycle())
            .map(|(id, is_known)| if is_known { id } else { visitor_id() })
            .chain(std::iter::repeat_with(visitor_id))
            .take(visitors.len())
            .collect();
        self.lose_redis(1).await;
        let sale = Sale::begin(&self.world, &visitors, ids);
        tokio::join!(
            sale.await_ended(),
            self.world.run_faults(&self.plan.faults_in_second_sale)
        );
        let views = sale.stop().await;
        self.check_views(begun_ms, first_views, &views);
        let report = self.report_after_loss(2, &views).await;
        self.check_totals(1, &report, &views);
        self.check_same_report(
            "beside the second life",
            first_report,
            &self.operator.report(first_report["generation"].as_u64()).await,
        );
        self.check_entries(&views).await;
    }
}

impl LivesOutcome {
    /// Whether no violation was found.
    pub fn is_ok(&self) -> bool {
        self.violations.is_empty()
    }
}

/// One line, and the evidence if there is a violation.
impl fmt::Display for LivesOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {:>4}: {} violations, {:.1} s, first life {}",
            self.plan.seed,
            self.violations.len(),
            self.duration.as_secs_f32(),
            self.first_report["totals"],
        )?;
        if self.is_ok() {
            return Ok(());
        }
        write!(f, "\n{}", self.plan)?;
        self.violations
            .iter()
            .try_for_each(|what| writeln!(f, "\nVIOLATED: {what}"))
    }
}
