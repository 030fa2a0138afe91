//! What an operator can do about a limit that kept one entry from being promoted.

use vestibule_domain::{pace::LimitedBy, queue_state::QueueState};

/// The advice for a queue in this state.
pub(super) fn explain_limit(limit: LimitedBy, state: QueueState) -> &'static str {
    match limit {
        LimitedBy::Switch => explain_switch(state),
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

fn explain_switch(state: QueueState) -> &'static str {
    match state {
        QueueState::Scheduled => {
            "the queue has not opened yet; open it now with the command update and \"opens_at_ms\": null"
        }
        QueueState::Paused => "the queue is paused; give the command resume first",
        QueueState::Closed | QueueState::Finished => {
            "the queue is closed or finished; give the command open first"
        }
        QueueState::Open | QueueState::Draining => {
            "the queue was stopped, and moves again; give the same command again"
        }
    }
}
