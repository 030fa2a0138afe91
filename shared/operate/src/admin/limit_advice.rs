//! What an operator can do about a limit that kept one entry from being promoted.

use vestibule_domain::pace::LimitedBy;

/// The advice, as the end of a sentence.
pub(super) fn explain_limit(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Switch => {
            "the queue is paused, closed, finished or not open yet, so no entry is promoted; resume or open it first"
        }
        LimitedBy::Capacity => {
            "every slot of the capacity is taken; wait until a session ends, or raise the capacity"
        }
        LimitedBy::Pace => {
            "the pace allows no further promotion now; wait, or give the command with \"over_pace\": true"
        }
        LimitedBy::Service => {
            "the protected service is down: its last load report says so, or is too old; wait for a report, or set adaptive to false"
        }
        LimitedBy::Clock => {
            "the clocks of the line and of this function differ too much; try again in some seconds"
        }
        LimitedBy::Line | LimitedBy::Presence | LimitedBy::Requested | LimitedBy::Journal => {
            "the line promotes no entry now; the command stats shows why"
        }
    }
}
