//! The lanes of a queue in memory as Redis stores them, for the test that compares the two.

use vestibule_domain::{lane::LaneProgress, lane_turns::LaneTurns};

/// The turns of the lanes, in the form of `include/chosen_entries.lua`.
pub(super) fn format_lane_turns(turns: &LaneTurns) -> String {
    if *turns == LaneTurns::default() {
        return String::new();
    }
    let heads = turns.heads();
    let heads = heads.map(|(lane, head)| format!(" {lane} {} {}", head.place.unwrap_or(0), head.since_turn));
    format!(
        "{} {}{}",
        turns.credit,
        turns.last_turn,
        heads.collect::<String>()
    )
}

/// How far a lane has moved, in the form of `include/lanes.lua`.
pub(super) fn format_lane(lane: LaneProgress) -> String {
    let LaneProgress {
        check_in_through,
        passed_through,
        gone_ahead,
        speed,
        absent,
    } = lane;
    format!(
        "{check_in_through} {passed_through} {gone_ahead} {} {} {} {absent}",
        speed.per_1000_seconds, speed.at_ms, speed.gone_ahead
    )
}
