use super::*;

fn tick(second: u64, served: u64) -> TickCounts {
    TickCounts {
        now_ms: 1_000_000 + second * 1_000,
        waiting_before: 50,
        taken_before: 8,
        waiting: 50,
        taken: 8,
        entered: served + 50,
        served,
        expired: 0,
        no_shows: 0,
        passed_over: 0,
        paced: Some(5),
    }
}

fn averages_after(seconds: u64) -> MovingAverages {
    (0..=seconds).fold(MovingAverages::default(), |averages, second| {
        averages.record_tick(tick(second, second * 5))
    })
}

#[test]
fn an_average_spans_one_to_two_windows() {
    for seconds in 130..400 {
        let averages = averages_after(seconds);
        let now = averages.current_counts(TickCounts {
            paced: None,
            ..tick(seconds, seconds * 5)
        });
        let before = averages.short.previous_start;
        let span_ms = now.at_ms - before.at_ms;
        assert!(
            (SHORT_WINDOW_MS..=2 * SHORT_WINDOW_MS).contains(&span_ms),
            "{span_ms} ms"
        );
        assert_eq!((now.served - before.served) * 1_000, 5 * span_ms);
        assert_eq!(
            (now.freed - before.freed) * 1_000,
            5 * i64::try_from(span_ms).expect("short")
        );
        assert_eq!((now.taken_seconds - before.taken_seconds) * 1_000, 8 * span_ms);
        assert_eq!(
            (now.waiting_seconds - before.waiting_seconds) * 1_000,
            50 * span_ms
        );
        assert_eq!(now.left, 0);
        assert_eq!((now.paced - before.paced) * 1_000, 5 * span_ms);
        assert_eq!((now.paced_seconds - before.paced_seconds) * 1_000, span_ms);
    }
}

#[test]
fn a_gap_between_ticks_restarts_the_short_window() {
    let before = averages_after(100);
    let later = before.record_tick(tick(100 + 180, 500));
    assert_eq!(later.short.current_start, later.short.previous_start);
    assert_eq!(
        (later.paced, later.paced_seconds),
        (before.paced, before.paced_seconds),
        "the pace did not limit the line in the gap"
    );
    assert_eq!(
        later.long.previous_start.at_ms, 1_000_000,
        "the long window continues across the gap"
    );
}

#[test]
fn only_ticks_that_the_pace_limits_show_the_rate() {
    let averages = averages_after(30);
    assert_eq!((averages.paced, averages.paced_seconds), (150, 30));
    let full = averages.record_tick(TickCounts {
        paced: None,
        ..tick(31, 151)
    });
    assert_eq!((full.paced, full.paced_seconds), (150, 30));
    let repaced = averages.restart_rate(1_031_500);
    assert_eq!(
        (repaced.paced, repaced.paced_seconds, repaced.rate_since_ms),
        (0, 0, 1_031_500)
    );
}

#[test]
fn a_restored_line_counts_from_below_zero() {
    let put_back = TickCounts {
        entered: 0,
        served: 0,
        ..tick(0, 0)
    };
    let averages = MovingAverages::default().record_tick(put_back);
    assert_eq!(
        (
            averages.short.current_start.freed,
            averages.short.current_start.left
        ),
        (-8, -50)
    );
    // One slot came free, and one entry left the line.
    let now = averages.current_counts(TickCounts {
        taken: 7,
        waiting: 49,
        ..TickCounts {
            now_ms: 1_010_000,
            ..put_back
        }
    });
    assert_eq!((now.freed, now.left), (-7, -49));
}
