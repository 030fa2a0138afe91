use proptest::prelude::*;

use super::*;

/// 1,000 calls per second, six calls per visitor, sessions of five minutes, 15 % of the calls repeated.
const SHOP: Demand = Demand {
    tps: 1_000,
    milli_calls: 6_000,
    session_seconds: 300,
    failure_percent: 15,
    margin_percent: 0,
    interval: Interval::Seconds(10),
};

fn plan(demand: Demand) -> (u64, u64, u64) {
    let plan = SizingPlan::for_demand(&demand).expect("possible");
    (plan.capacity, plan.batch, plan.interval_seconds)
}

#[test]
fn a_shop_with_1000_calls_per_second_is_sized() {
    assert_eq!(plan(SHOP), (43_478, 1_449, 10));
    assert_eq!(
        plan(Demand {
            failure_percent: 0,
            ..SHOP
        }),
        (50_000, 1_666, 10)
    );
    assert_eq!(
        plan(Demand {
            session_seconds: 375,
            ..SHOP
        }),
        (54_347, 1_449, 10)
    );
}

#[test]
fn a_margin_lowers_capacity_and_batch_by_its_share() {
    assert_eq!(
        plan(Demand {
            margin_percent: 20,
            ..SHOP
        }),
        (34_782, 1_159, 10)
    );
    let longer = Demand {
        margin_percent: 20,
        session_seconds: 375,
        ..SHOP
    };
    assert_eq!(plan(longer), (43_478, 1_159, 10));
}

#[test]
fn a_part_of_a_call_counts() {
    assert_eq!(
        plan(Demand {
            milli_calls: 6_500,
            ..SHOP
        }),
        (40_133, 1_337, 10)
    );
    assert_eq!(
        plan(Demand {
            milli_calls: 500,
            failure_percent: 0,
            ..SHOP
        }),
        (600_000, 20_000, 10)
    );
}

#[test]
fn the_target_load_divides_a_session_into_intervals() {
    let of = |session_seconds, batches| Demand {
        session_seconds,
        interval: Interval::TargetLoad(batches),
        ..SHOP
    };
    assert_eq!(plan(of(300, 30)), (43_478, 1_449, 10));
    assert_eq!(plan(of(375, 30)), (54_347, 1_739, 12), "12.5 s is rounded down");
    assert_eq!(plan(of(300, 1)), (43_478, 43_478, 300));
    let error = SizingPlan::for_demand(&of(300, 301)).expect_err("less than a second");
    assert_eq!(
        error.to_string(),
        "target_load results in interval_seconds = 0, which must be from 1 to 3600"
    );
}

#[test]
fn an_impossible_demand_names_the_field_to_change() {
    let many_calls = Demand {
        tps: 1,
        milli_calls: 1_000_000,
        ..SHOP
    };
    let huge = Demand {
        tps: 10_000_000,
        milli_calls: 1_000,
        ..SHOP
    };
    let slow = Demand {
        tps: 1,
        milli_calls: 20_000,
        ..SHOP
    };
    let long_interval = Demand {
        tps: 1_000_000,
        milli_calls: 100_000,
        session_seconds: 1,
        interval: Interval::Seconds(3_600),
        ..SHOP
    };
    let by_load = Demand {
        interval: Interval::TargetLoad(300),
        ..slow
    };
    for (demand, field) in [
        (many_calls, "tps"),
        (huge, "tps"),
        (slow, "interval_seconds"),
        (long_interval, "interval_seconds"),
        (by_load, "target_load"),
    ] {
        let error = SizingPlan::for_demand(&demand).expect_err(field);
        assert_eq!(error.field, field, "{demand:?}");
    }
}

proptest! {
    #[test]
    fn a_plan_never_exceeds_what_the_service_can_serve(
        tps in 1_u32..100_000, milli_calls in 1_u32..100_000, session_seconds in 1_u32..3_600,
        failure_percent in 0_u32..=100, margin_percent in 0_u32..=99, interval_seconds in 1_u32..600,
    ) {
        let interval = Interval::Seconds(interval_seconds);
        let demand = Demand { tps, milli_calls, session_seconds, failure_percent, margin_percent, interval };
        if let Ok(plan) = SizingPlan::for_demand(&demand) {
            let needed = |visitors: u64| u128::from(visitors * u64::from(milli_calls)) * u128::from(100 + failure_percent);
            let available = |seconds: u32| {
                u128::from(u64::from(tps) * u64::from(seconds) * 1_000) * u128::from(100 - margin_percent)
            };
            prop_assert!(needed(plan.capacity) <= available(session_seconds));
            prop_assert!(needed(plan.batch) <= available(interval_seconds));
            prop_assert!(needed(plan.batch + 1) > available(interval_seconds), "the batch is maximal");
        }
    }
}
