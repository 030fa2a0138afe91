//! Draws a plan. The random generator is a fixed one, so that a seed gives the same plan on each machine.

use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use vestibule_crowd::{
    rules::FollowerOptions,
    temper::{Conduct, DeviceClock, Stay, StayEnd, Temper},
};

use super::{ClientKind, Fault, Plan, PlannedVisit, ScheduledFault, Visitor};

/// All faults strike within this time.
const FAULTS_MS: u64 = 9_000;
/// Changes the seed of the draws that came later, so that the earlier ones are as before.
const SECOND_DRAWS: u64 = 0x5eed;
/// All visitors arrive within this time.
const ARRIVALS_MS: u64 = 8_000;

impl Plan {
    /// Draws the plan of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
        let visitors = draw.random_range(50..=90);
        let mut plan = Self {
            seed,
            capacity: draw.random_range(12..=24),
            batch: draw.random_range(8..=16),
            session_seconds: draw.random_range(3..=4),
            promoters: draw.random_range(1..=2),
            visitors: (0..visitors).map(|_| draw_visitor(&mut draw)).collect(),
            faults: Vec::new(),
        };
        let mut second_draw = Xoshiro256PlusPlus::seed_from_u64(seed ^ SECOND_DRAWS);
        plan.visitors.sort_by_key(|visitor| visitor.arrives_ms);
        for draw_fault in [draw_redis_fault, draw_table_fault] {
            let mut at_ms = draw.random_range(500..4_000);
            while at_ms < FAULTS_MS {
                let (fault, duration_ms) = draw_fault(&mut draw);
                plan.faults.push(ScheduledFault { at_ms, fault });
                at_ms += duration_ms + draw.random_range(1_000..5_000);
            }
        }
        for _ in 0..draw.random_range(3..=8) {
            plan.faults.push(ScheduledFault {
                at_ms: draw.random_range(500..FAULTS_MS),
                fault: draw_kill(&mut draw),
            });
        }
        for scheduled in &mut plan.faults {
            if let Fault::TableThrottled { duration_ms, percent } = scheduled.fault
                && second_draw.random()
            {
                scheduled.fault = Fault::TableFailing { duration_ms, percent };
            }
        }
        plan.faults.sort_by_key(|fault| fault.at_ms);
        plan
    }
}

fn draw_visitor(draw: &mut impl Rng) -> Visitor {
    let (arrives_ms, seed) = (draw.random_range(0..ARRIVALS_MS), draw.random());
    Visitor {
        arrives_ms,
        closes_after_ms: draw_seldom(draw, 25, 30..600),
        client: if draw.random_ratio(1, 5) {
            let rounds = draw.random_range(15..=40);
            ClientKind::Rude { rounds }
        } else {
            ClientKind::Follows(draw_visits(draw))
        },
        seed,
    }
}

/// A number of milliseconds, in so many percent of all draws.
fn draw_seldom(draw: &mut impl Rng, percent: u32, ms: std::ops::Range<u64>) -> Option<u64> {
    let drawn = draw.random_range(ms);
    draw.random_ratio(percent, 100).then_some(drawn)
}

/// The visits of a visitor who follows the rules. Some end two visits in a row, and some come again later.
fn draw_visits(draw: &mut impl Rng) -> Vec<PlannedVisit> {
    let mut visits = vec![PlannedVisit {
        after_ms: 0,
        temper: draw_temper(draw),
    }];
    if draw.random_ratio(1, 4) {
        visits.push(PlannedVisit {
            after_ms: 0,
            temper: leaves_at_once(),
        });
    }
    if let Some(after_ms) = draw_seldom(draw, 20, 100..1_500) {
        visits.push(PlannedVisit {
            after_ms,
            temper: draw_temper(draw),
        });
    }
    visits
}

/// Leaves the line, or the slot, with the first answer.
fn leaves_at_once() -> Temper {
    Temper {
        conduct: Conduct::Leaves { after_ms: 0.0 },
        stay: Stay {
            length_ms: 0.0,
            checks: 0,
            end: StayEnd::Leaves,
            extends: false,
        },
        ..Temper::honest(0.0)
    }
}

fn draw_temper(draw: &mut impl Rng) -> Temper {
    let (conduct, returns) = draw_conduct(draw);
    let is_wrong = draw.random_ratio(1, 8);
    let clock = DeviceClock {
        offset_ms: draw.random_range(-3.6e6..3.6e6),
        rate: draw.random_range(0.98..1.02),
    };
    let offline_ms = draw_seldom(draw, 10, 500..5_000).map(milliseconds);
    let offline_for_ms = milliseconds(draw.random_range(500..4_000));
    let tabs = if draw.random_ratio(1, 8) { 2 } else { 1 };
    Temper {
        conduct,
        returns,
        stay: draw_stay(draw),
        is_let_in_by_service: draw.random_ratio(1, 3),
        client: FollowerOptions {
            reads_documents: draw.random_ratio(3, 4),
            ..FollowerOptions::default()
        },
        // The tabs of a visitor who comes back would come back apart.
        tabs: if returns == 0 { tabs } else { 1 },
        clock: if is_wrong { clock } else { DeviceClock::RIGHT },
        offline_ms: offline_ms.map(|from_ms| from_ms..from_ms + offline_for_ms),
    }
}

/// What the visitor does in line, and how often it enters again after a missed turn.
fn draw_conduct(draw: &mut impl Rng) -> (Conduct, u32) {
    match draw.random_range(0..100) {
        // Of those who follow the rules only a no-show misses the turn, and knows of it.
        0..=3 => (Conduct::NoShow, 1),
        // The phone sleeps after the first polls: one who enters and is silent is passed by.
        4..=10 => {
            let from_ms = milliseconds(draw.random_range(1_500..3_000));
            let until_ms = from_ms + milliseconds(draw.random_range(500..4_000));
            (Conduct::Sleeps { from_ms, until_ms }, 0)
        }
        11..=25 => {
            let after_ms = milliseconds(draw.random_range(300..5_000));
            (Conduct::Leaves { after_ms }, 0)
        }
        26..=45 => {
            let factor = draw.random_range(1.5..8.0);
            (Conduct::Paces { factor }, 0)
        }
        _ => (Conduct::Honest, 0),
    }
}

fn draw_stay(draw: &mut impl Rng) -> Stay {
    Stay {
        length_ms: milliseconds(draw.random_range(50..1_000)),
        checks: 1,
        end: match draw.random_range(0..10) {
            0 => StayEnd::Expires,
            1..=3 => StayEnd::Leaves,
            _ => StayEnd::Completes,
        },
        // A session that ends later than told is another one.
        extends: false,
    }
}

/// Durations are far below 2^53 milliseconds.
#[allow(clippy::cast_precision_loss)]
fn milliseconds(number: u64) -> f64 {
    number as f64
}

/// Draws a fault of Redis, and its duration.
fn draw_redis_fault(draw: &mut impl Rng) -> (Fault, u64) {
    let (duration_ms, stale_ms) = (draw.random_range(200..2_500), draw.random_range(100..1_500));
    match draw.random_range(0..10) {
        0..=2 => (Fault::RedisKilled { down_ms: duration_ms }, duration_ms),
        3 => {
            let (stale_ms, down_ms) = (draw.random_range(300..8_000), duration_ms);
            (Fault::RedisStale { stale_ms, down_ms }, stale_ms + down_ms)
        }
        4 | 5 => (Fault::RedisFailedOver { stale_ms }, stale_ms),
        6 => (Fault::RedisPaused { duration_ms }, duration_ms),
        7 => (Fault::RedisCut { duration_ms }, duration_ms),
        8 => (Fault::RedisStalled { duration_ms }, duration_ms),
        _ => {
            let delay_ms = draw.random_range(5..80);
            (
                Fault::RedisSlow {
                    duration_ms,
                    delay_ms,
                },
                duration_ms,
            )
        }
    }
}

/// Draws a fault of the table, and its duration.
fn draw_table_fault(draw: &mut impl Rng) -> (Fault, u64) {
    let duration_ms = draw.random_range(300..3_500);
    let fault = match draw.random_range(0..4) {
        0 => Fault::TableStalled { duration_ms },
        1 => Fault::TableCut { duration_ms },
        2 => {
            let percent = draw.random_range(20..=100);
            Fault::TableThrottled { duration_ms, percent }
        }
        _ => {
            let delay_ms = draw.random_range(20..400);
            Fault::TableSlow {
                duration_ms,
                delay_ms,
            }
        }
    };
    (fault, duration_ms)
}

fn draw_kill(draw: &mut impl Rng) -> Fault {
    let function = ["enter", "claim", "promoter", "promoter", "validate", "status"][draw.random_range(0..6)];
    let written = draw.random();
    if function == "status" || draw.random() {
        Fault::FunctionKilled { function }
    } else {
        Fault::FunctionKilledAtWrite { function, written }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_plan() {
        assert_eq!(Plan::draw(7), Plan::draw(7));
        assert_ne!(Plan::draw(7), Plan::draw(8));
    }

    #[test]
    fn fifty_seeds_draw_each_fault() {
        let faults: Vec<_> = (1..=50).flat_map(|seed| Plan::draw(seed).faults).collect();
        for name in [
            "RedisKilled",
            "RedisStale",
            "RedisFailedOver",
            "RedisPaused",
            "RedisCut",
            "RedisStalled",
            "RedisSlow",
            "TableStalled",
            "TableCut",
            "TableThrottled",
            "TableFailing",
            "TableSlow",
            "FunctionKilled {",
            "FunctionKilledAtWrite { function: \"enter\", written: true",
            "FunctionKilledAtWrite { function: \"enter\", written: false",
            "FunctionKilledAtWrite { function: \"promoter\"",
        ] {
            let is_it = |strike: &&ScheduledFault| format!("{:?}", strike.fault).starts_with(name);
            assert!(faults.iter().filter(is_it).count() >= 3, "{name}");
        }
    }
}
