//! Drawing a plan. The generator is named, so that a seed means the same on every machine.

use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{Door, End, Fault, Plan, Strike, Turn, Visitor};

/// Faults strike within this.
const FAULTS_MS: u64 = 9_000;
/// Visitors begin to come within this.
const ARRIVALS_MS: u64 = 8_000;

impl Plan {
    /// Draws the plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
        let visitors = draw.random_range(50..=90);
        let mut plan = Self {
            seed,
            capacity: draw.random_range(12..=24),
            batch: draw.random_range(8..=16),
            session_seconds: draw.random_range(3..=4),
            promoters: draw.random_range(1..=2),
            visitors: (0..visitors).map(|_| visitor(&mut draw)).collect(),
            strikes: Vec::new(),
        };
        plan.visitors.sort_by_key(|visitor| visitor.arrives_ms);
        for of in [redis_fault, table_fault] {
            let mut at_ms = draw.random_range(500..4_000);
            while at_ms < FAULTS_MS {
                let (fault, takes_ms) = of(&mut draw);
                plan.strikes.push(Strike { at_ms, fault });
                at_ms += takes_ms + draw.random_range(1_000..5_000);
            }
        }
        for _ in 0..draw.random_range(3..=8) {
            plan.strikes.push(Strike {
                at_ms: draw.random_range(500..FAULTS_MS),
                fault: kill(&mut draw),
            });
        }
        plan.strikes.sort_by_key(|strike| strike.at_ms);
        plan
    }
}

fn visitor(draw: &mut impl Rng) -> Visitor {
    let rarely = |draw: &mut dyn Rng, percent: u32, ms: std::ops::Range<u64>| {
        let drawn = draw.random_range(ms);
        draw.random_ratio(percent, 100).then_some(drawn)
    };
    Visitor {
        arrives_ms: draw.random_range(0..ARRIVALS_MS),
        polls_every_ms: draw.random_range(250..900),
        wait_seconds: if draw.random_ratio(1, 4) { 2 } else { 0 },
        hangs_up_ms: rarely(draw, 25, 30..600),
        leaves_ms: rarely(draw, 15, 300..5_000),
        turn: turn(draw),
        again_ms: rarely(draw, 20, 100..1_500),
    }
}

fn turn(draw: &mut impl Rng) -> Turn {
    if draw.random_ratio(1, 50) {
        return Turn::Missed;
    }
    Turn::Taken {
        by: if draw.random_ratio(1, 3) {
            Door::Validate
        } else {
            Door::Claim
        },
        stay_ms: draw.random_range(50..1_000),
        end: match draw.random_range(0..10) {
            0 => End::Session,
            1..=3 => End::Leave,
            _ => End::Complete,
        },
    }
}

/// A fault of Redis, and how long it takes.
fn redis_fault(draw: &mut impl Rng) -> (Fault, u64) {
    let (for_ms, behind_ms) = (draw.random_range(200..2_500), draw.random_range(100..1_500));
    match draw.random_range(0..10) {
        0..=2 => (Fault::RedisKilled { down_ms: for_ms }, for_ms),
        3 => {
            let (behind_ms, down_ms) = (draw.random_range(300..8_000), for_ms);
            (Fault::RedisOld { behind_ms, down_ms }, behind_ms + down_ms)
        }
        4 | 5 => (Fault::RedisFailedOver { behind_ms }, behind_ms),
        6 => (Fault::RedisPaused { for_ms }, for_ms),
        7 => (Fault::RedisCut { for_ms }, for_ms),
        8 => (Fault::RedisStalled { for_ms }, for_ms),
        _ => {
            let late_ms = draw.random_range(5..80);
            (Fault::RedisSlow { for_ms, late_ms }, for_ms)
        }
    }
}

/// A fault of the table, and how long it takes.
fn table_fault(draw: &mut impl Rng) -> (Fault, u64) {
    let for_ms = draw.random_range(300..3_500);
    let fault = match draw.random_range(0..4) {
        0 => Fault::TableStalled { for_ms },
        1 => Fault::TableCut { for_ms },
        2 => {
            let percent = draw.random_range(20..=100);
            Fault::TableThrottled { for_ms, percent }
        }
        _ => {
            let late_ms = draw.random_range(20..400);
            Fault::TableSlow { for_ms, late_ms }
        }
    };
    (fault, for_ms)
}

fn kill(draw: &mut impl Rng) -> Fault {
    let function = ["enter", "enter", "promoter", "promoter", "validate", "status"][draw.random_range(0..6)];
    let written = draw.random();
    if function == "status" || draw.random() {
        Fault::Killed { function }
    } else {
        Fault::KilledAtWrite { function, written }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_plan() {
        assert_eq!(Plan::of(7), Plan::of(7));
        assert_ne!(Plan::of(7), Plan::of(8));
    }

    #[test]
    fn fifty_seeds_have_every_fault() {
        let strikes: Vec<_> = (1..=50).flat_map(|seed| Plan::of(seed).strikes).collect();
        for name in [
            "RedisKilled",
            "RedisOld",
            "RedisFailedOver",
            "RedisPaused",
            "RedisCut",
            "RedisStalled",
            "RedisSlow",
            "TableStalled",
            "TableCut",
            "TableThrottled",
            "TableSlow",
            "Killed {",
            "KilledAtWrite { function: \"enter\", written: true",
            "KilledAtWrite { function: \"enter\", written: false",
            "KilledAtWrite { function: \"promoter\"",
        ] {
            let is_it = |strike: &&Strike| format!("{:?}", strike.fault).starts_with(name);
            assert!(strikes.iter().filter(is_it).count() >= 3, "{name}");
        }
    }
}
