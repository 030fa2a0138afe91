//! Checks the order of turns, independently of the line and its rules.
//!
//! Visitors get their turns in the order in which they entered. A visitor is *passed over* when one who entered later
//! gets a turn first. With presence, the line passes over visitors who do not check in, and they come first when they
//! are back. A turn is *due* at the first tick that leaves a slot and a token free after all ahead have had their turns,
//! have left or were passed over. A visitor who is present and gets the turn later than that has lost it. A visitor who
//! follows the protocol and has not checked in yet, because the line moves faster than it did, is *awaited*.

use std::collections::HashMap;

/// The order of turns in one run.
#[derive(Debug)]
pub struct TurnOrder {
    /// Whether the line may pass over visitors.
    may_pass_over: bool,
    turns: Vec<Turn>,
    /// All turns below this one have come, were given up, or were passed over.
    next: usize,
    /// When each visitor who follows the protocol and waits was passed over, by turn.
    passed_over: HashMap<u32, u64>,
    /// When the turn of each visitor was due who is awaited, by turn.
    awaited: HashMap<u32, u64>,
    result: TurnOrderResult,
}

/// The violations of one run.
#[derive(Debug, Clone, Default)]
pub struct TurnOrderResult {
    /// Visitors who got a turn after one who entered later, or twice.
    pub out_of_order: u64,
    /// Visitors who were present and got their turns later than due.
    pub late_turns: u64,
    /// The time for which the line waited for a visitor who follows the protocol to check in, for each such visitor who
    /// got a turn, in milliseconds.
    pub awaited_delays_ms: Vec<u64>,
    /// Visitors who follow the protocol and were passed over.
    pub passed_over_present: u64,
    /// The time from being passed over until the turn of each of them, in milliseconds.
    pub passed_over_delays_ms: Vec<u64>,
    /// Those of them who never got a turn, and neither left nor vanished.
    pub never_served: u64,
    /// Visitors who did not follow the protocol, were passed over, came back and got a turn.
    pub returned: u64,
}

/// Whether a waiting visitor is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// The visitor does not follow the protocol.
    Away,
    /// The visitor follows the protocol.
    Following,
    /// The visitor has also checked in.
    Present,
}

#[derive(Debug, Clone, Copy)]
struct Turn {
    visitor: u32,
    state: TurnState,
    is_late: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnState {
    Waiting,
    PassedOver,
    Over,
}

impl TurnOrder {
    /// An empty line.
    pub fn new(may_pass_over: bool) -> Self {
        Self {
            may_pass_over,
            turns: Vec::new(),
            next: 0,
            passed_over: HashMap::new(),
            awaited: HashMap::new(),
            result: TurnOrderResult::default(),
        }
    }

    /// Adds a visitor who entered, and returns the number of the turn.
    ///
    /// # Panics
    /// Four billion visitors entered.
    pub fn enter(&mut self, visitor: u32) -> u32 {
        let turn = u32::try_from(self.turns.len()).expect("a run has fewer visitors");
        self.turns.push(Turn {
            visitor,
            state: TurnState::Waiting,
            is_late: false,
        });
        turn
    }

    /// Records that a visitor gave up the place before the turn.
    pub fn leave(&mut self, turn: u32) {
        self.turns[turn as usize].state = TurnState::Over;
        self.passed_over.remove(&turn);
        self.awaited.remove(&turn);
    }

    /// Records that visitors got their turns, in this order.
    pub fn serve(&mut self, now_ms: u64, turns: &[u32], attendance: impl Fn(u32) -> Attendance) {
        let mut last = None;
        for &turn in turns {
            let state = std::mem::replace(&mut self.turns[turn as usize].state, TurnState::Over);
            match state {
                TurnState::Waiting => {
                    self.result.out_of_order += u64::from(last.is_some_and(|last| turn < last));
                    last = last.max(Some(turn));
                }
                TurnState::PassedOver => self.serve_passed_over(now_ms, turn),
                TurnState::Over => self.result.out_of_order += 1,
            }
            if let Some(due_at_ms) = self.awaited.remove(&turn) {
                self.result.awaited_delays_ms.push(now_ms - due_at_ms);
            }
        }
        while last.is_some_and(|last| self.next <= last as usize) {
            let Turn { visitor, state, .. } = self.turns[self.next];
            if state == TurnState::Waiting {
                self.turns[self.next].state = TurnState::PassedOver;
                if attendance(visitor) != Attendance::Away {
                    self.result.passed_over_present += 1;
                    let turn = u32::try_from(self.next).unwrap_or(u32::MAX);
                    self.passed_over.insert(turn, now_ms);
                }
            }
            self.next += 1;
        }
    }

    fn serve_passed_over(&mut self, now_ms: u64, turn: u32) {
        self.result.out_of_order += u64::from(!self.may_pass_over);
        match self.passed_over.remove(&turn) {
            Some(at_ms) => self.result.passed_over_delays_ms.push(now_ms - at_ms),
            None => self.result.returned += 1,
        }
    }

    /// Records that a tick left a slot and a token free.
    pub fn check_head(&mut self, now_ms: u64, attendance: impl Fn(u32) -> Attendance) {
        while let Some(turn) = self.turns.get_mut(self.next) {
            if turn.state != TurnState::Waiting {
                self.next += 1;
                continue;
            }
            match attendance(turn.visitor) {
                Attendance::Away => {}
                Attendance::Following => {
                    let number = u32::try_from(self.next).unwrap_or(u32::MAX);
                    self.awaited.entry(number).or_insert(now_ms);
                }
                Attendance::Present => {
                    self.result.late_turns += u64::from(!turn.is_late);
                    turn.is_late = true;
                }
            }
            return;
        }
    }

    /// The violations, when the run has ended.
    pub fn finish(mut self, attendance: impl Fn(u32) -> Attendance) -> TurnOrderResult {
        let passed_over = self.passed_over.keys();
        let visitors = passed_over.map(|turn| self.turns[*turn as usize].visitor);
        let is_there = |visitor: &u32| attendance(*visitor) != Attendance::Away;
        self.result.never_served = visitors.filter(is_there).count() as u64;
        self.result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESENT: fn(u32) -> Attendance = |_| Attendance::Present;

    fn line_of(visitors: u32, may_pass_over: bool) -> TurnOrder {
        let mut order = TurnOrder::new(may_pass_over);
        for visitor in 0..visitors {
            order.enter(visitor);
        }
        order
    }

    #[test]
    fn a_turn_before_an_earlier_visitor_is_out_of_order() {
        let mut order = line_of(10, false);
        order.leave(1);
        order.serve(0, &[0, 2, 3], PRESENT);
        order.serve(1, &[5], PRESENT);
        assert_eq!(order.result.out_of_order, 0, "visitor 1 left, visitor 4 waits");
        order.serve(2, &[4], PRESENT);
        assert_eq!(order.result.out_of_order, 1);
        order.serve(3, &[7, 6], PRESENT);
        assert_eq!(order.result.out_of_order, 2);
        order.serve(4, &[7], PRESENT);
        assert_eq!(order.result.out_of_order, 3, "no visitor is served twice");
    }

    #[test]
    fn a_follower_who_is_passed_over_is_counted_with_the_delay() {
        let mut order = line_of(10, true);
        order.serve(1_000, &[0, 4], |visitor| match visitor {
            1 | 2 => Attendance::Following,
            _ => Attendance::Away,
        });
        order.serve(4_000, &[2, 5], PRESENT);
        order.serve(5_000, &[3, 6], PRESENT);
        let result = order.finish(PRESENT);
        assert_eq!(result.out_of_order, 0);
        assert_eq!(result.passed_over_present, 2, "visitors 1 and 2");
        assert_eq!(result.passed_over_delays_ms, [3_000]);
        assert_eq!((result.never_served, result.returned), (1, 1));
    }

    #[test]
    fn a_due_turn_of_a_present_visitor_is_late_once() {
        let mut order = line_of(4, true);
        order.serve(0, &[0], PRESENT);
        order.check_head(1_000, |_| Attendance::Away);
        assert_eq!(order.result.late_turns, 0, "the line may wait for visitor 1");
        order.leave(1);
        order.check_head(2_000, PRESENT);
        order.check_head(3_000, PRESENT);
        assert_eq!(order.result.late_turns, 1, "the turn of visitor 2");
        order.serve(4_000, &[2, 3], PRESENT);
        order.check_head(5_000, PRESENT);
        assert_eq!(order.finish(PRESENT).late_turns, 1, "no visitor waits");
    }

    #[test]
    fn the_line_waits_for_a_follower_who_has_not_checked_in() {
        let mut order = line_of(3, true);
        order.check_head(1_000, |_| Attendance::Following);
        order.check_head(2_000, |_| Attendance::Following);
        order.serve(6_000, &[0, 1], PRESENT);
        let result = order.finish(PRESENT);
        assert_eq!((result.late_turns, result.awaited_delays_ms), (0, vec![5_000]));
    }
}
