//! The first crowd of a fresh queue, of whose visitors nothing shows how long they stay.

use vestibule_domain::settings::Settings;
use vestibule_simulate::{
    scenario::{Arrivals, Scenario, ServiceTime, VisitorProfile},
    simulation::{Clients, run_scenario},
};

const VISITORS: u32 = 50;
const SLOTS: u32 = 5;
/// A slot is free again two ticks after it was given: a visitor claims within a second, and stays for 0.6 s.
const SLOT_MS: u64 = 2_000;

/// 50 visitors come at once to five slots, and each needs one for a moment of a session that would last ten minutes.
fn first_crowd(seed: u64, presence_seconds: u32) -> Scenario {
    let scenario = Scenario::by_name("flash", VISITORS, seed).expect("the scenario exists");
    Scenario {
        arrivals: Arrivals::Steady {
            duration_seconds: 0.2,
        },
        service_time: ServiceTime::LogNormal {
            mean_seconds: 0.6,
            sigma: 0.01,
        },
        visitor_profile: VisitorProfile::default(),
        settings: Settings {
            capacity: SLOTS,
            batch: SLOTS,
            interval_seconds: 1,
            presence_seconds,
            ..scenario.settings
        },
        ..scenario
    }
}

#[test]
fn the_first_crowd_does_not_sleep_beside_free_slots() {
    for (seed, presence_seconds) in (1..=10).flat_map(|seed| [(seed, 0), (seed, 60)]) {
        let outcome = run_scenario(&first_crowd(seed, presence_seconds), Clients::Paced);
        assert_eq!((outcome.served, outcome.lost_turns), (VISITORS.into(), 0));
        let took_ms = outcome.served_until_ms - outcome.served_from_ms;
        let all_ms = u64::from(VISITORS / SLOTS) * SLOT_MS;
        assert!(
            took_ms <= all_ms,
            "seed {seed}, presence {presence_seconds}: {took_ms} ms"
        );
    }
}
