//! Draws a plan. The random generator is a fixed one, so that a seed gives the same plan on each machine.

use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{AdmissionRequest, Fault, Plan, PlannedEnd, ScheduledFault, TurnPlan, Visitor};

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
        for visitor in &mut plan.visitors {
            visitor.ends_two_visits = second_draw.random_ratio(1, 4);
        }
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
    let rarely = |draw: &mut dyn Rng, percent: u32, ms: std::ops::Range<u64>| {
        let drawn = draw.random_range(ms);
        draw.random_ratio(percent, 100).then_some(drawn)
    };
    Visitor {
        arrives_ms: draw.random_range(0..ARRIVALS_MS),
        poll_pause_ms: draw.random_range(250..900),
        wait_seconds: if draw.random_ratio(1, 4) { 2 } else { 0 },
        closes_after_ms: rarely(draw, 25, 30..600),
        leaves_after_ms: rarely(draw, 15, 300..5_000),
        turn: draw_turn(draw),
        enters_again_after_ms: rarely(draw, 20, 100..1_500),
        ends_two_visits: false,
    }
}

fn draw_turn(draw: &mut impl Rng) -> TurnPlan {
    if draw.random_ratio(1, 50) {
        return TurnPlan::Miss;
    }
    TurnPlan::Use {
        request: if draw.random_ratio(1, 3) {
            AdmissionRequest::Validate
        } else {
            AdmissionRequest::Claim
        },
        stay_ms: draw.random_range(50..1_000),
        end: match draw.random_range(0..10) {
            0 => PlannedEnd::Expire,
            1..=3 => PlannedEnd::Leave,
            _ => PlannedEnd::Complete,
        },
    }
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
