use super::*;

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
fn the_window_follows_the_speed_within_its_bounds() {
    let settings = Settings::default();
    let windows = [0, 40_000, 1_000_000].map(|per_1000_seconds| {
        let speed = LaneSpeed {
            per_1000_seconds,
            ..LaneSpeed::default()
        };
        find_window(speed, 1, &settings)
    });
    assert_eq!(
        windows,
        [WINDOW_ENTRIES_MIN, 2_400, 15_000],
        "60 s at this speed; 500 polls a second, one in 30 s each"
    );
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
