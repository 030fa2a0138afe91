//! The closed loop of an adaptive pace: a service that reports its latency gets nearly as many visitors as it bears, and few
//! as soon as it slows.

use vestibule_simulate::adaptive::{
    INTERVAL_SECONDS, LATENCY_MS_MAX, SLOW, adaptive_settings, figures::AdaptiveFigures,
};

#[test]
fn an_adaptive_pace_follows_a_service_that_slows_and_recovers() {
    for seed in 1..=3 {
        let figures = AdaptiveFigures::run(seed);
        let text = figures.format(seed);
        assert!(
            figures.adaptive_per_second >= 0.9 * figures.best_constant_per_second,
            "within a tenth of the best constant pace: {text}"
        );
        assert!(figures.latency_ms_max <= LATENCY_MS_MAX, "{text}");
        let fell_after = figures.fell_after_seconds.expect("the pace fell");
        assert!(fell_after <= 2 * INTERVAL_SECONDS, "{text}");
        assert!(figures.holds_promises());

        // From two intervals on, no more visitors are let in than the lowest pace allows.
        let from = SLOW.start + 2 * INTERVAL_SECONDS;
        let next_minute = figures.seconds.iter();
        let next_minute = next_minute.filter(|second| (from..from + 60).contains(&second.second));
        let promoted: u64 = next_minute.map(|second| second.promoted).sum();
        let allowed = u64::from(adaptive_settings().batch_min * (60 / INTERVAL_SECONDS + 1));
        assert!(promoted <= allowed, "{promoted} in a minute: {text}");
        // The visitors inside leave after two minutes on average, and then the service bears its load again.
        assert!(figures.overload_seconds <= 180, "{text}");
    }
}
