//! Estimates for an entry in its lane: entries of earlier lanes go first, and lanes share the promotions.

use vestibule_domain::{
    estimate::{Estimate, Forecast},
    lane_rank::LaneLoads,
    score::WaitScore,
};

use super::{QueueView, forecast::spread_positions};

impl QueueView {
    /// How the lanes of the queue share its promotions now.
    pub fn lane_loads(&self) -> LaneLoads {
        let mut loads = LaneLoads {
            in_line: self.waiting_by_lane,
            share_percent: u64::from(self.configuration.settings.lane_share),
            ..LaneLoads::default()
        };
        for (lane, progress) in &self.lanes {
            let lane = usize::from(*lane);
            loads.in_line[lane] = loads.in_line[lane].saturating_sub(progress.absent);
            loads.speeds[lane] = progress.speed.per_1000_seconds;
        }
        loads
    }

    /// The position in its lane of a waiting entry with this rank in the whole line, which is 1 for the first. Absent
    /// entries do not count. Among entries that were passed over it is the highest position that the entry may have.
    pub fn position_in_lane(&self, place: WaitScore, rank_in_line: u64) -> u64 {
        let earlier: u64 = self.waiting_by_lane[..usize::from(place.lane())].iter().sum();
        let rank = rank_in_line.saturating_sub(earlier + 1);
        let own = self.lanes.iter().find(|(lane, _)| *lane == place.lane());
        own.map_or(rank + 1, |(_, progress)| progress.position(place.raw(), rank))
    }

    /// Returns the expected wait at this position of a lane. The range reaches from the wait behind those who are in line
    /// now to the one if visitors enter earlier lanes as they did lately.
    ///
    /// Returns `None` if an estimate is impossible, as [`estimate`](Self::estimate) does.
    pub fn estimate_in_lane(
        &self,
        forecast: &Forecast,
        loads: &LaneLoads,
        lane: u8,
        position: u64,
    ) -> Option<Estimate> {
        let rank = loads.rank(lane, position);
        Some(Estimate {
            low: self.estimate(forecast, rank.low)?.low,
            high: self.estimate(forecast, rank.high)?.high,
        })
    }

    /// Returns how many turns come before those at positions spread over a lane, in ascending order. `None` if the lane has
    /// the line for itself, so that it is one less than the position.
    pub fn ahead_in_lane(&self, lane: u8) -> Option<Vec<(u64, u64)>> {
        let loads = self.lane_loads();
        loads.has_competition().then(|| {
            let positions = spread_positions(loads.in_line[usize::from(lane)]);
            let ahead = |position| loads.rank(lane, position).low - 1;
            positions
                .into_iter()
                .map(|position| (position, ahead(position)))
                .collect()
        })
    }

    /// Returns the expected waits at positions spread over a lane, as [`estimated_waits`](Self::estimated_waits) does for
    /// the whole line. `None` if the lane has the line for itself, so that those of the line are right.
    pub fn estimated_waits_in_lane(&self, forecast: &Forecast, lane: u8) -> Option<Vec<(u64, Estimate)>> {
        let loads = self.lane_loads();
        if !loads.has_competition() {
            return None;
        }
        let positions = spread_positions(loads.in_line[usize::from(lane)]);
        let waits = positions.into_iter().map_while(|position| {
            let estimate = self.estimate_in_lane(forecast, &loads, lane, position)?;
            Some((position, estimate))
        });
        Some(waits.collect())
    }
}
