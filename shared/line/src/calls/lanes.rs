//! Reads how far the lanes of a queue have moved, as `include/lanes.lua` stores it.

use redis::Cmd;
use vestibule_domain::{
    id::QueueId,
    lane::{LANES, Lane, LaneProgress, LaneSpeed},
};

use super::{Line, connect::Request, fields::Fields, keys::Keys};
use crate::LineError;

impl Line {
    /// Returns how far a lane has moved. An answer that names a position reads this after the
    /// position: the view, which is cached, may count fewer entries than have gone ahead by then.
    pub async fn lane_progress(&self, queue: &QueueId, lane: u8) -> Result<LaneProgress, LineError> {
        let command = Cmd::hget(Keys::new(queue).key("state"), field_name(lane));
        let text: Option<String> = self.connection.send(Request::Command(&command)).await?;
        text.map_or_else(|| Ok(LaneProgress::new(lane)), |text| parse_lane(&text))
    }
}

fn field_name(lane: u8) -> String {
    format!("lane_{lane}")
}

/// Reads how far the lanes have moved that had an entry, and the default one.
pub(super) fn read_lanes(state: &Fields) -> Result<Vec<(u8, LaneProgress)>, LineError> {
    let mut lanes = Vec::new();
    for lane in 0..LANES {
        let field = field_name(lane);
        if state.has(&field) {
            lanes.push((lane, parse_lane(state.text(&field)?)?));
        } else if lane == Lane::DEFAULT.number() {
            lanes.push((lane, LaneProgress::new(lane)));
        }
    }
    Ok(lanes)
}

/// Parses what `lanes.lua` stores of a lane.
pub(super) fn parse_lane(text: &str) -> Result<LaneProgress, LineError> {
    let numbers: Vec<i64> = text.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [
        check_in_through,
        passed_through,
        gone_ahead,
        speed,
        at_ms,
        speed_gone_ahead,
        absent,
    ] = numbers[..]
    else {
        return Err(LineError::Protocol(format!(
            "the hash `state` has a lane `{text}`"
        )));
    };
    Ok(LaneProgress {
        check_in_through: check_in_through.cast_unsigned(),
        passed_through: passed_through.cast_unsigned(),
        gone_ahead,
        speed: LaneSpeed {
            per_1000_seconds: speed.cast_unsigned(),
            at_ms: at_ms.cast_unsigned(),
            gone_ahead: speed_gone_ahead,
        },
        absent: absent.cast_unsigned(),
    })
}
