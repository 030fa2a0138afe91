//! An attack on a queue that honest visitors use: one client at full speed beside a crowd that keeps to the rules, both
//! through the [limits of the gateway](Gateway). `make bench NAME=attack` prints what the crowd notices, and the suite `attack`
//! asserts that it loses nothing.

mod admission;
mod attacker;
mod figures;
mod gateway;
mod honest;
mod meter;

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout_at},
};
use vestibule_crowd::record::VisitRecord;

pub use self::{admission::Admission, attacker::Attack, figures::AttackResult, gateway::Gateway};
use self::{admission::Tickets, figures::HonestVisits, honest::HonestVisitors, meter::PromotionMeter};
use crate::runner::Runner;

/// The pace lets in so many visitors in each [`INTERVAL_SECONDS`]. A tick comes each second, and what a late one missed is
/// made up for by the next, up to one batch.
pub const BATCH: u64 = 20;
/// The interval of the pace.
pub const INTERVAL_SECONDS: u64 = 2;
/// The pace, in visitors per second. As many honest visitors arrive.
pub const PER_SECOND: u64 = BATCH / INTERVAL_SECONDS;
/// Far above what the pace fills, so that only the pace limits the promotions.
const CAPACITY: u64 = 100_000;
/// `presence_seconds` as a multiple of `call_seconds`, as the defaults are: 90 and 30.
const PRESENCE_PER_CALL: u64 = 3;
/// How long the visitors who are still in line have after the attack, beyond what the line takes and until they ask again.
const AFTERMATH: Duration = Duration::from_secs(20);

/// How an attack runs.
#[derive(Debug, Clone, Copy)]
pub struct AttackPlan {
    /// How long the attacker sends requests. As long, honest visitors arrive as fast as the pace lets them in.
    pub duration: Duration,
    /// The honest visitors who are in line before.
    pub in_line_before: u64,
    /// Who may enter the queue.
    pub admission: Admission,
    /// How long after its call a silent entry is passed over, in seconds.
    pub call_seconds: u64,
}

impl AttackPlan {
    fn presence_seconds(self) -> u64 {
        PRESENCE_PER_CALL * self.call_seconds
    }

    /// The longest time for which a visitor is told not to ask: two thirds of `presence_seconds`.
    fn longest_pause(self) -> Duration {
        Duration::from_secs(self.presence_seconds() * 2 / 3)
    }
}

/// Sends honest visitors through a queue of their own, beside the attacker.
///
/// # Panics
/// Panics if the runner stops.
pub async fn run_attack(
    runner: &Runner,
    gateway: &Gateway,
    attack: Option<Attack>,
    plan: AttackPlan,
) -> AttackResult {
    let queue = format!("attack:{}", uuid::Uuid::new_v4());
    let tickets = Tickets::new(plan.admission, &queue);
    let mut settings = json!({
        "capacity": CAPACITY, "batch": BATCH, "interval_seconds": INTERVAL_SECONDS,
        "call_seconds": plan.call_seconds, "presence_seconds": plan.presence_seconds(),
    });
    tickets.require_in(&mut settings);
    let create = json!({ "op": "create", "queue": queue, "settings": settings });
    runner.run_command(create).await;
    let visitors = Arc::new(HonestVisitors::new(gateway, &queue, tickets.clone()));
    let meter = PromotionMeter::start(runner, &queue);

    // Those who are in line before arrive one after the other, so that the order of the answers is that of the line.
    let mut in_line = Vec::new();
    for _ in 0..plan.in_line_before {
        in_line.push(visitors.arrive().await);
    }
    let mut newcomers = Vec::new();
    let attacking = attack.map(|attack| attack.start(gateway, &queue, tickets));
    let pause = Duration::from_secs(1) / u32::try_from(PER_SECOND).expect("a small number");
    let begun = Instant::now();
    let in_line = in_line.into_iter().map(|visitor| {
        let visitors = visitors.clone();
        tokio::spawn(async move { visitors.go_through(visitor).await })
    });
    let in_line: Vec<_> = in_line.collect();
    for number in 0.. {
        let due = begun + pause * number;
        if due >= begun + plan.duration {
            break;
        }
        sleep_until(due).await;
        let visitors = visitors.clone();
        newcomers.push(tokio::spawn(async move {
            let visitor = visitors.arrive().await;
            visitors.go_through(visitor).await
        }));
    }
    let attacker = match attacking {
        Some(attacking) => attacking.stop().await,
        None => attacker::Traffic::default(),
    };
    let line_seconds = plan.in_line_before / PER_SECOND;
    let until = Instant::now() + Duration::from_secs(line_seconds) + plan.longest_pause() + AFTERMATH;
    let end_visits = async |visits: Vec<JoinHandle<VisitRecord>>| {
        let served = visits.into_iter().map(|visit| async move {
            let abort = visit.abort_handle();
            let served = timeout_at(until, visit).await;
            abort.abort();
            served.ok().map(|visit| visit.expect("a visit does not panic"))
        });
        join_all(served).await
    };
    let (in_line, newcomers) = tokio::join!(end_visits(in_line), end_visits(newcomers));
    let (in_line, newcomers) = (HonestVisits::new(in_line), HonestVisits::new(newcomers));
    // The meter reads the totals once more, so that the last promotions count.
    sleep(meter::PAUSE * 4).await;
    AttackResult {
        admission: plan.admission,
        attack,
        in_line,
        newcomers,
        traffic: attacker,
        times: visitors.times(),
        readings: meter.stop().await,
    }
}
