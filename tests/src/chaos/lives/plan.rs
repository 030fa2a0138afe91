//! What a seed draws for the two lives of a queue.

use std::fmt;

use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use serde_json::{Value, json};

use vestibule_crowd::{
    rules::FollowerOptions,
    temper::{Conduct, Stay, StayEnd, Temper},
};

use crate::chaos::plan::{ClientKind, Fault, PlannedVisit, ScheduledFault, Visitor};

/// The number of promoters.
pub(super) const PROMOTERS: usize = 1;
/// All visitors of a sale arrive within this time.
const ARRIVALS_MS: u64 = 2_500;
/// All faults of one part of a run begin within this time.
const FAULTS_MS: u64 = 3_000;
/// Longer than a run: no turn and no session ends by itself, so what a visitor saw is what the report must count.
const CLAIM_SECONDS: u64 = 300;
const SESSION_SECONDS: u64 = 600;
/// Every fourth seed loses Redis while visitors act. The totals may then lack the last seconds.
const LOSS_IN_SALE_EVERY: u64 = 4;

/// The plan of one seed.
#[derive(Debug)]
pub(super) struct LivesPlan {
    pub(super) seed: u64,
    pub(super) capacity: u64,
    /// The visitors of both sales. Some come to both.
    pub(super) sales: [Vec<Visitor>; 2],
    /// The faults while visitors act in the first sale.
    pub(super) faults_in_sale: Vec<ScheduledFault>,
    /// Redis is lost while no visitor acts: before the first report, before the second sale, and before its report.
    pub(super) losses_in_rest: [Fault; 3],
    /// The faults while the queue is deleted and created again.
    pub(super) faults_in_handover: Vec<ScheduledFault>,
    /// The faults in the second sale.
    pub(super) faults_in_second_sale: Vec<ScheduledFault>,
}

impl LivesPlan {
    /// Draws the plan of a seed.
    pub(super) fn draw(seed: u64) -> Self {
        let draw = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
        let losses = usize::from(seed.is_multiple_of(LOSS_IN_SALE_EVERY));
        let [faults_in_sale, faults_in_second_sale] = [4, 2].map(|count| {
            let mut faults = draw_faults(draw, count, draw_harmless);
            faults.extend(draw_faults(draw, losses, draw_loss));
            faults
        });
        let mut faults_in_handover = draw_faults(draw, 2, draw_harmless);
        faults_in_handover.extend(draw_faults(draw, 2, draw_for_handover));
        Self {
            seed,
            capacity: draw.random_range(5..=7),
            sales: [draw_visitors(draw), draw_visitors(draw)],
            faults_in_sale,
            losses_in_rest: [draw_loss(draw), draw_loss(draw), draw_loss(draw)],
            faults_in_handover,
            faults_in_second_sale,
        }
    }

    /// Whether the report of a sale (0 or 1) may lack the counts of some seconds: those that Redis lost while visitors
    /// acted, or those before the promoter noticed that Redis came back with old data. The stored tally is some seconds
    /// old. An empty Redis refuses visitors until the queue is restored, so it loses no counts.
    pub(super) fn may_lack_counts(&self, sale: usize) -> bool {
        let is_old_before_sale = sale == 1 && !matches!(self.losses_in_rest[1], Fault::RedisKilled { .. });
        self.seed.is_multiple_of(LOSS_IN_SALE_EVERY) || is_old_before_sale
    }

    /// The settings of the queue in both lives.
    pub(super) fn settings(&self) -> Value {
        json!({
            "capacity": self.capacity,
            "batch": 3,
            "interval_seconds": 1,
            "claim_seconds": CLAIM_SECONDS,
            "session_seconds": SESSION_SECONDS,
        })
    }
}

/// The visitors of a sale, by their arrival. The first ones keep a session and a turn until the queue is deleted.
fn draw_visitors(draw: &mut impl Rng) -> Vec<Visitor> {
    let keeps_session = Temper {
        stay: stay(0.0, StayEnd::Expires),
        ..follower()
    };
    let keeps_turn = Temper {
        conduct: Conduct::NoShow,
        ..follower()
    };
    let mut visitors = vec![
        visitor(draw, 0, keeps_session.clone()),
        visitor(draw, 0, keeps_session),
        visitor(draw, 0, keeps_turn),
    ];
    let mut arrivals: Vec<_> = (0..draw.random_range(10..=14))
        .map(|_| draw.random_range(300..ARRIVALS_MS))
        .collect();
    arrivals.sort_unstable();
    for arrives_ms in arrivals {
        let leaves = Conduct::Leaves {
            after_ms: draw.random_range(200.0..2_000.0),
        };
        let temper = Temper {
            conduct: if draw.random_ratio(1, 5) {
                leaves
            } else {
                Conduct::Paces {
                    factor: draw.random_range(1.0..4.0),
                }
            },
            stay: stay(draw.random_range(300.0..1_500.0), StayEnd::Completes),
            is_let_in_by_service: draw.random_ratio(1, 4),
            ..follower()
        };
        visitors.push(visitor(draw, arrives_ms, temper));
    }
    visitors
}

/// A visitor who learns from answers alone that the queue is finished, so that each one is told.
fn follower() -> Temper {
    Temper {
        client: FollowerOptions {
            reads_documents: false,
            ..FollowerOptions::default()
        },
        ..Temper::honest(0.0)
    }
}

fn stay(length_ms: f64, end: StayEnd) -> Stay {
    Stay {
        length_ms,
        checks: 1,
        end,
        extends: false,
    }
}

fn visitor(draw: &mut impl Rng, arrives_ms: u64, temper: Temper) -> Visitor {
    Visitor {
        arrives_ms,
        closes_after_ms: draw.random_ratio(1, 4).then(|| draw.random_range(30..600)),
        client: ClientKind::Follows(vec![PlannedVisit { after_ms: 0, temper }]),
        seed: draw.random(),
    }
}

fn draw_faults<R: Rng>(draw: &mut R, count: usize, draw_fault: fn(&mut R) -> Fault) -> Vec<ScheduledFault> {
    let one = |_| ScheduledFault {
        at_ms: draw.random_range(0..FAULTS_MS),
        fault: draw_fault(draw),
    };
    (0..count).map(one).collect()
}

/// A fault by which Redis keeps what it has.
fn draw_harmless(draw: &mut impl Rng) -> Fault {
    let duration_ms = draw.random_range(200..1_500);
    let percent = draw.random_range(20..=100);
    match draw.random_range(0..10) {
        0 => Fault::RedisPaused { duration_ms },
        1 => Fault::RedisCut { duration_ms },
        2 => Fault::TableStalled { duration_ms },
        3 => Fault::TableCut { duration_ms },
        4 => Fault::TableThrottled { duration_ms, percent },
        5 => Fault::TableFailing { duration_ms, percent },
        6 => Fault::FunctionKilled {
            function: ["enter", "claim", "promoter"][draw.random_range(0..3)],
        },
        _ => Fault::FunctionKilledAtWrite {
            function: ["enter", "claim", "promoter", "validate"][draw.random_range(0..4)],
            written: draw.random(),
        },
    }
}

/// A fault by which Redis loses all or its last changes.
fn draw_loss(draw: &mut impl Rng) -> Fault {
    let (down_ms, stale_ms) = (draw.random_range(100..1_000), draw.random_range(100..1_000));
    match draw.random_range(0..3) {
        0 => Fault::RedisKilled { down_ms },
        1 => Fault::RedisStale { stale_ms, down_ms },
        _ => Fault::RedisFailedOver { stale_ms },
    }
}

/// A fault that hits the deletion, the creation, or a process that still knows the first life. Redis never comes back
/// with the state of the first life here: while it is stale, before the promoter notices, it may answer as it did then.
fn draw_for_handover(draw: &mut impl Rng) -> Fault {
    let duration_ms = draw.random_range(1_000..5_000);
    match draw.random_range(0..5) {
        0 => Fault::RedisKilled {
            down_ms: draw.random_range(100..1_500),
        },
        1 => Fault::FunctionFrozen {
            function: "promoter",
            duration_ms,
        },
        2 => Fault::FunctionKilled { function: "admin" },
        _ => Fault::FunctionKilledAtWrite {
            function: "admin",
            written: draw.random(),
        },
    }
}

/// The plan in lines, for the evidence of a failed seed.
impl fmt::Display for LivesPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, capacity {}", self.seed, self.capacity)?;
        writeln!(f, "  while no visitor acts  {:?}", self.losses_in_rest)?;
        for (part, faults) in [
            ("in the sale", &self.faults_in_sale),
            ("in the handover", &self.faults_in_handover),
            ("in the second sale", &self.faults_in_second_sale),
        ] {
            for ScheduledFault { at_ms, fault } in faults {
                writeln!(f, "  {part}, at {at_ms:>4} ms  {fault:?}")?;
            }
        }
        Ok(())
    }
}
