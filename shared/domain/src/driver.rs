//! Who drives the line: its promoter, and where that is away, whoever calls.

/// Without a heartbeat for so many intervals of the pace, a promoter is away.
const INTERVALS: u64 = 3;
/// However long the interval is, a promoter that ticks each second is away after so long, in milliseconds.
const AWAY_AFTER_MAX_MS: u64 = 5_000;
/// Between two drives of a queue by one process, in milliseconds.
const EVERY_MS: u64 = 1_000;

/// How old a heartbeat may be, in milliseconds, before the promoter counts as away: `min(3 intervals, 5 s)`.
pub fn away_after_ms(interval_ms: u64) -> u64 {
    interval_ms.saturating_mul(INTERVALS).min(AWAY_AFTER_MAX_MS)
}

/// Whether the promoter is away: its last heartbeat is too old, or there is none.
pub fn is_away(heartbeat_ms: u64, now_ms: u64, away_after_ms: u64) -> bool {
    heartbeat_ms == 0 || now_ms.saturating_sub(heartbeat_ms) >= away_after_ms
}

/// In how many milliseconds a process that serves a call looks at the queue again, which it last drove `driven_ms` ago, or
/// never; zero: it is to drive now. While the promoter is there nobody does, and it may be gone a second later.
pub fn due_in_ms(is_away: bool, driven_ms: Option<u64>) -> u64 {
    match driven_ms {
        Some(driven_ms) if is_away => EVERY_MS.saturating_sub(driven_ms),
        None if is_away => 0,
        _ => EVERY_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_drives_at_once_and_then_once_a_second_while_the_promoter_is_away() {
        assert_eq!(due_in_ms(true, None), 0);
        assert_eq!(due_in_ms(true, Some(0)), 1_000);
        assert_eq!(due_in_ms(true, Some(999)), 1);
        assert_eq!(due_in_ms(true, Some(1_000)), 0);
        assert_eq!(due_in_ms(true, Some(60_000)), 0);
        for driven_ms in [None, Some(0), Some(60_000)] {
            assert_eq!(due_in_ms(false, driven_ms), 1_000, "and looks again");
        }
    }

    #[test]
    fn a_promoter_is_away_after_three_intervals_and_after_five_seconds_at_the_latest() {
        assert_eq!(away_after_ms(1_000), 3_000);
        assert_eq!(away_after_ms(2_000), 5_000);
        assert_eq!(away_after_ms(3_600_000), 5_000);
    }

    #[test]
    fn without_a_heartbeat_there_is_no_promoter() {
        assert!(is_away(0, 0, 3_000));
        assert!(!is_away(1_000, 3_999, 3_000));
        assert!(is_away(1_000, 4_000, 3_000));
        assert!(!is_away(9_000, 4_000, 3_000), "a clock that was set back");
    }
}
