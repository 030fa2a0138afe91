use super::*;

#[test]
fn a_restored_line_counts_from_below_zero() {
    let averages = MovingAverages {
        last_tick_at_ms: 1_000_000,
        taken_seconds: 80,
        waiting_seconds: 500,
        ..MovingAverages::default()
    };
    let now = averages.current_counts(CurrentCounts {
        at_ms: 1_010_000,
        waiting: 49,
        taken: 7,
        entered: 0,
        served: 0,
        expired: 0,
        no_shows: 0,
        passed_over: 0,
    });
    assert_eq!((now.freed, now.left), (-7, -49));
    assert_eq!((now.taken_seconds, now.waiting_seconds), (150, 990));
}
