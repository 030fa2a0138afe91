//! The fallback tick. While the promoter is down, requests tick the queue instead. This module
//! decides when the promoter counts as down and when a process runs the next fallback tick.

/// A promoter counts as down after this many intervals of the pace without a heartbeat.
const MISSED_INTERVALS_MAX: u64 = 3;
/// The upper bound of that time, in milliseconds. A running promoter ticks every second, however
/// long the interval is.
const DOWN_AFTER_MAX_MS: u64 = 5_000;
/// The time between two fallback ticks of one queue by one process, in milliseconds.
const FALLBACK_TICK_INTERVAL_MS: u64 = 1_000;

/// The age of the heartbeat, in milliseconds, at which the promoter counts as down:
/// `min(3 intervals, 5 s)`.
pub fn promoter_down_after_ms(interval_ms: u64) -> u64 {
    interval_ms
        .saturating_mul(MISSED_INTERVALS_MAX)
        .min(DOWN_AFTER_MAX_MS)
}

/// Whether the promoter is down: it has no heartbeat, or its last one is at least `away_after_ms`
/// old. Both times are in Unix milliseconds, and 0 stands for no heartbeat.
pub fn is_promoter_down(heartbeat_ms: u64, now_ms: u64, down_after_ms: u64) -> bool {
    heartbeat_ms == 0 || now_ms.saturating_sub(heartbeat_ms) >= down_after_ms
}

/// The time in milliseconds until a process that serves requests considers the queue again; zero if
/// it is to run a fallback tick now. `driven_ms` is how long ago the process last ran one; `None`
/// if it never did.
///
/// While the promoter is up, no request ticks the queue. The process still considers it again after
/// a second, because the promoter may be down by then.
pub fn fallback_tick_due_in_ms(is_down: bool, last_tick_age_ms: Option<u64>) -> u64 {
    match last_tick_age_ms {
        Some(driven_ms) if is_down => FALLBACK_TICK_INTERVAL_MS.saturating_sub(driven_ms),
        None if is_down => 0,
        _ => FALLBACK_TICK_INTERVAL_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promoter_down_fallback_ticks_run_once_a_second() {
        assert_eq!(fallback_tick_due_in_ms(true, None), 0);
        assert_eq!(fallback_tick_due_in_ms(true, Some(0)), 1_000);
        assert_eq!(fallback_tick_due_in_ms(true, Some(999)), 1);
        assert_eq!(fallback_tick_due_in_ms(true, Some(1_000)), 0);
        assert_eq!(fallback_tick_due_in_ms(true, Some(60_000)), 0);
        for driven_ms in [None, Some(0), Some(60_000)] {
            assert_eq!(
                fallback_tick_due_in_ms(false, driven_ms),
                1_000,
                "the process considers the queue again after a second"
            );
        }
    }

    #[test]
    fn promoter_is_down_after_three_intervals_or_five_seconds() {
        assert_eq!(promoter_down_after_ms(1_000), 3_000);
        assert_eq!(promoter_down_after_ms(2_000), 5_000);
        assert_eq!(promoter_down_after_ms(3_600_000), 5_000);
    }

    #[test]
    fn no_or_old_heartbeat_means_the_promoter_is_down() {
        assert!(is_promoter_down(0, 0, 3_000));
        assert!(!is_promoter_down(1_000, 3_999, 3_000));
        assert!(is_promoter_down(1_000, 4_000, 3_000));
        assert!(
            !is_promoter_down(9_000, 4_000, 3_000),
            "the clock was set back after the heartbeat"
        );
    }
}
