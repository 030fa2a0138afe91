use proptest::prelude::*;

use super::*;

fn speed_after(seconds: u64, per_second: u64) -> LaneSpeed {
    let mut speed = LaneSpeed::default();
    for second in 0..=seconds {
        let gone = i64::try_from(second * per_second).expect("few");
        speed = speed.measure(1_000_000 + second * 1_000, gone);
    }
    speed
}

fn find_window(speed: LaneSpeed, growth: u64, settings: &Settings) -> u64 {
    window_entries(speed, None, growth, settings.window_entries_max(), settings)
}

#[test]
fn absent_visitors_make_the_window_grow_to_twice_the_room() {
    let settings = Settings::default();
    let still = LaneSpeed::default();
    let windows = [1, 4, 16, 64].map(|growth| find_window(still, growth, &settings));
    assert_eq!(windows, [500, 2_000, 8_000, 30_000]);
}

#[test]
fn absent_entries_do_not_count_in_a_position() {
    let progress = LaneProgress {
        passed_through: 1_000,
        absent: 30,
        ..LaneProgress::new(0)
    };
    assert_eq!(progress.position(2_000, 40), 11);
    assert_eq!(progress.position(900, 4), 5, "the entry was passed over");
}

#[test]
fn a_steady_lane_is_measured_within_two_minutes() {
    let speed = speed_after(120, 40).per_1000_seconds;
    assert!((39_500..=40_000).contains(&speed), "{speed}");
    let settings = Settings::default();
    assert_eq!(
        find_window(speed_after(120, 40), 1, &settings),
        speed * 60 / 1_000
    );
}

#[test]
fn a_lane_that_stands_falls_back_to_the_least_window() {
    let mut speed = speed_after(120, 1_000);
    let settings = Settings::default();
    assert_eq!(
        find_window(speed, 1, &settings),
        15_000,
        "500 polls a second, one in 30 s each"
    );
    for second in 121..400 {
        speed = speed.measure(1_000_000 + second * 1_000, 120_000);
    }
    assert_eq!(find_window(speed, 1, &settings), WINDOW_ENTRIES_MIN);
}

#[test]
fn the_pace_opens_the_window_before_the_first_measurement() {
    let settings = Settings {
        batch: 1_000,
        interval_seconds: 10,
        ..Settings::default()
    };
    let window = window_entries(
        LaneSpeed::default(),
        Some(settings.pace()),
        1,
        settings.window_entries_max(),
        &settings,
    );
    assert_eq!(window, 6_000, "60 s at 100 entries a second");
}

#[test]
fn lanes_do_not_overlap() {
    for lane in 0..LANES {
        let progress = LaneProgress::new(lane);
        assert_eq!(progress.check_in_through / LANE_PLACES, u64::from(lane));
        assert_eq!(progress.passed_through / LANE_PLACES, u64::from(lane));
        assert!(progress.passed_through < progress.check_in_through);
    }
}

proptest! {
    #[test]
    fn many_measurements_a_second_do_not_change_the_speed(
        steps in prop::collection::vec((1u64..2_000, 0i64..5_000), 1..100),
    ) {
        let (mut speed, mut now_ms, mut gone) = (LaneSpeed::default(), 1_000_000, 0);
        for (passed_ms, more) in steps {
            now_ms += passed_ms;
            gone += more;
            let measured = speed.measure(now_ms, gone);
            prop_assert!(measured == speed || measured.at_ms == now_ms);
            prop_assert_eq!(measured.measure(now_ms, gone), measured);
            speed = measured;
        }
    }

    #[test]
    fn entries_that_come_back_do_not_make_a_speed(gone in -1_000i64..0) {
        let speed = LaneSpeed::default().measure(1_000_000, 0).measure(1_010_000, gone);
        prop_assert_eq!(speed.per_1000_seconds, 0);
    }
}
