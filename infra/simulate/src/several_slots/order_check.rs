//! Who was overtaken: whether a visitor had the turn after another one who came later.

/// Takes the turns in the order of the ticks, and finds out who was overtaken.
#[derive(Debug, Default)]
pub struct OrderCheck {
    /// When the last arrival of the earlier ticks was, in microseconds of the run.
    latest_us: u64,
    /// The same with the tick that is under way. All turns of a tick are at once.
    tick: u64,
    latest_of_tick_us: u64,
}

impl OrderCheck {
    /// A visitor who entered at this time had the turn by a tick. Ticks come in order. Returns by how much the visitor was
    /// overtaken, in microseconds between the arrivals.
    pub fn take_turn(&mut self, tick: u64, entered_us: u64) -> Option<u64> {
        if tick > self.tick {
            self.latest_us = self.latest_us.max(self.latest_of_tick_us);
            self.tick = tick;
        }
        self.latest_of_tick_us = self.latest_of_tick_us.max(entered_us);
        self.latest_us.checked_sub(entered_us).filter(|us| *us > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_is_overtaken_by_a_later_one_of_an_earlier_tick() {
        let mut check = OrderCheck::default();
        let turns = [(1, 10), (1, 5), (2, 30), (2, 20), (3, 25)];
        let overtaken = turns.map(|(tick, entered_us)| check.take_turn(tick, entered_us));
        assert_eq!(overtaken, [None, None, None, None, Some(5)]);
    }
}
