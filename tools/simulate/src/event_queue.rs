//! The event queue: the next step of each visitor, by time. It is a timing wheel with one slot per millisecond. Each
//! slot has a linked list of visitors, because a visitor has one next step only. Scheduling and popping take constant
//! time for millions of visitors, which a heap would not.

/// The number of slots of the wheel, in milliseconds. No step is scheduled further ahead.
const WHEEL_MS: usize = 1 << 22;
/// The end of a list, or no slot.
const NONE: u32 = u32::MAX;

/// The next step of each visitor.
#[derive(Debug)]
pub struct EventQueue {
    first: Vec<u32>,
    links: Vec<Link>,
    scheduled: usize,
    now_ms: u64,
}

/// The position of a visitor in the list of a slot.
#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    /// The slot, or `NONE` if the visitor has no next step.
    slot: u32,
}

impl EventQueue {
    /// An empty queue for this many visitors.
    pub fn new(visitors: usize) -> Self {
        let unlinked = Link {
            previous: NONE,
            next: NONE,
            slot: NONE,
        };
        Self {
            first: vec![NONE; WHEEL_MS],
            links: vec![unlinked; visitors],
            scheduled: 0,
            now_ms: 0,
        }
    }

    /// Schedules the next step of a visitor and replaces an earlier schedule. A time in the past becomes now,
    /// and a time beyond the wheel becomes the end of the wheel.
    pub fn schedule(&mut self, visitor: u32, at_ms: u64) {
        self.cancel(visitor);
        let at_ms = at_ms.clamp(self.now_ms, self.now_ms + WHEEL_MS as u64 - 1);
        let slot = slot(at_ms);
        let next = std::mem::replace(&mut self.first[slot], visitor);
        if next != NONE {
            self.links[next as usize].previous = visitor;
        }
        self.links[visitor as usize] = Link {
            previous: NONE,
            next,
            slot: u32::try_from(slot).unwrap_or(NONE),
        };
        self.scheduled += 1;
    }

    /// Whether no visitor has a next step.
    pub fn is_empty(&self) -> bool {
        self.scheduled == 0
    }

    /// Removes the earliest step that is due by `until_ms` and returns its time and its visitor.
    pub fn pop_due(&mut self, until_ms: u64) -> Option<(u64, u32)> {
        loop {
            let visitor = self.first[slot(self.now_ms)];
            if visitor != NONE {
                self.cancel(visitor);
                return Some((self.now_ms, visitor));
            }
            if self.now_ms >= until_ms {
                return None;
            }
            self.now_ms += 1;
        }
    }

    fn cancel(&mut self, visitor: u32) {
        let Link { previous, next, slot } = self.links[visitor as usize];
        if slot == NONE {
            return;
        }
        self.links[visitor as usize].slot = NONE;
        self.scheduled -= 1;
        if previous == NONE {
            self.first[slot as usize] = next;
        } else {
            self.links[previous as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
    }
}

fn slot(at_ms: u64) -> usize {
    usize::try_from(at_ms).unwrap_or(usize::MAX) % WHEEL_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_visitor_is_popped_once_and_in_order_of_time() {
        let mut queue = EventQueue::new(4);
        for (visitor, at_ms) in [(0, 50), (1, 20), (2, 50), (3, 70), (1, 60)] {
            queue.schedule(visitor, at_ms);
        }
        assert_eq!(queue.pop_due(49), None);
        let mut popped = Vec::new();
        while let Some(due) = queue.pop_due(65) {
            popped.push(due);
        }
        assert_eq!(popped, [(50, 2), (50, 0), (60, 1)]);
        queue.schedule(0, 10);
        assert_eq!(queue.pop_due(65), Some((65, 0)), "a past time becomes now");
        assert!(!queue.is_empty(), "visitor 3 is still scheduled");
        assert_eq!(queue.pop_due(1_000), Some((70, 3)));
        assert_eq!(queue.pop_due(1_000), None);
        assert!(queue.is_empty());
    }
}
