//! What happens when: a wheel of milliseconds, each with a chain of visitors, since a visitor waits for one thing at a time.
//! Adding and taking cost the same however many wait, which a heap of millions would not.

/// The length of the wheel in milliseconds: nothing is planned further ahead.
const WHEEL_MS: usize = 1 << 22;
const NOBODY: u32 = u32::MAX;

/// The plans of a crowd.
#[derive(Debug)]
pub struct Agenda {
    first: Vec<u32>,
    links: Vec<Link>,
    planned: usize,
    now_ms: u64,
}

/// Where a visitor stands in a chain.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    next: u32,
    /// The chain; `NOBODY` where the visitor is in none.
    slot: u32,
}

impl Agenda {
    /// Nothing planned, for so many visitors.
    pub fn new(visitors: usize) -> Self {
        let nowhere = Link {
            before: NOBODY,
            next: NOBODY,
            slot: NOBODY,
        };
        Self {
            first: vec![NOBODY; WHEEL_MS],
            links: vec![nowhere; visitors],
            planned: 0,
            now_ms: 0,
        }
    }

    /// Plans a visitor's next step, in place of any other; not before now, and not further ahead than the wheel is long.
    pub fn plan(&mut self, visitor: u32, at_ms: u64) {
        self.cancel(visitor);
        let at_ms = at_ms.clamp(self.now_ms, self.now_ms + WHEEL_MS as u64 - 1);
        let slot = slot(at_ms);
        let next = std::mem::replace(&mut self.first[slot], visitor);
        if next != NOBODY {
            self.links[next as usize].before = visitor;
        }
        self.links[visitor as usize] = Link {
            before: NOBODY,
            next,
            slot: u32::try_from(slot).unwrap_or(NOBODY),
        };
        self.planned += 1;
    }

    /// Whether nobody has anything planned.
    pub fn is_empty(&self) -> bool {
        self.planned == 0
    }

    /// Takes one whose step is due by then, with its moment.
    pub fn take(&mut self, by_ms: u64) -> Option<(u64, u32)> {
        loop {
            let visitor = self.first[slot(self.now_ms)];
            if visitor != NOBODY {
                self.cancel(visitor);
                return Some((self.now_ms, visitor));
            }
            if self.now_ms >= by_ms {
                return None;
            }
            self.now_ms += 1;
        }
    }

    fn cancel(&mut self, visitor: u32) {
        let Link { before, next, slot } = self.links[visitor as usize];
        if slot == NOBODY {
            return;
        }
        self.links[visitor as usize].slot = NOBODY;
        self.planned -= 1;
        if before == NOBODY {
            self.first[slot as usize] = next;
        } else {
            self.links[before as usize].next = next;
        }
        if next != NOBODY {
            self.links[next as usize].before = before;
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
    fn everybody_comes_in_order_and_once() {
        let mut agenda = Agenda::new(4);
        for (visitor, at_ms) in [(0, 50), (1, 20), (2, 50), (3, 70), (1, 60)] {
            agenda.plan(visitor, at_ms);
        }
        assert_eq!(agenda.take(49), None);
        let mut seen = Vec::new();
        while let Some(due) = agenda.take(65) {
            seen.push(due);
        }
        assert_eq!(seen, [(50, 2), (50, 0), (60, 1)]);
        agenda.plan(0, 10);
        assert_eq!(agenda.take(65), Some((65, 0)), "not in the past");
        assert!(!agenda.is_empty(), "one is left");
        assert_eq!(agenda.take(1_000), Some((70, 3)));
        assert_eq!(agenda.take(1_000), None);
        assert!(agenda.is_empty());
    }
}
