//! Where the promoter is away, those who call drive the line: each process that serves a call ticks once a second, for as
//! long as the call lasts, where the line gives it the turn.

use vestibule_domain::fallback_tick::fallback_tick_due_in_ms;
use vestibule_engine::{fallback_tick::take_fallback_tick_turn, tick::run_fallback_tick};

use super::{FIXED_MS, VIEW_MS, World, now};

/// So many processes share the calls.
pub(super) const PROCESSES: usize = 8;

/// One process that serves calls.
#[derive(Debug)]
pub(super) struct Process {
    /// The polls that it holds.
    held: u64,
    /// When it last drove.
    drove_at_ms: Option<u64>,
    /// When it looks at the queue again by itself: `u64::MAX` while it holds nothing.
    looks_at_ms: u64,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            held: 0,
            drove_at_ms: None,
            looks_at_ms: u64::MAX,
        }
    }
}

impl Process {
    /// It holds one poll more.
    pub(super) fn hold(&mut self) {
        self.held += 1;
    }

    /// And one less.
    pub(super) fn release(&mut self) {
        self.held -= 1;
        if self.held == 0 {
            self.looks_at_ms = u64::MAX;
        }
    }
}

/// Which process has a visitor's call.
pub(super) fn process_of(visitor: u32) -> usize {
    visitor as usize % PROCESSES
}

impl World {
    /// Somebody enters or polls.
    pub(super) fn call(&mut self, visitor: u32) {
        self.serve(process_of(visitor));
    }

    /// A fixed client is in line, and polls from now on.
    pub(super) fn polls_on(&mut self, visitor: u32) {
        self.polls.join(self.people[visitor as usize].drawn.comes_at_ms);
        self.polls_at_ms = self.polls_at_ms.min(self.now_ms + FIXED_MS);
    }

    /// When a call that changes nothing for its visitor may drive the line: one that is held, or one of a fixed client.
    pub(super) fn next_call_ms(&self) -> u64 {
        let held = self.processes.iter().map(|process| process.looks_at_ms);
        held.fold(self.polls_at_ms, u64::min)
    }

    /// Such a moment has come.
    pub(super) fn calls_go_on(&mut self) {
        for process in 0..PROCESSES {
            if self.processes[process].looks_at_ms <= self.now_ms {
                self.serve(process);
            }
        }
        if self.polls_at_ms <= self.now_ms {
            if self.polls.next_ms(self.now_ms) == Some(self.now_ms) {
                self.serve(usize::try_from(self.now_ms).unwrap_or(0) % PROCESSES);
            }
            // While the promoter is there, polls that see the same view do nothing.
            let from_ms = if self.view.is_promoter_down() {
                self.now_ms + 1
            } else {
                self.viewed_at_ms + VIEW_MS
            };
            let next_ms = self.polls.next_ms(from_ms.max(self.now_ms + 1));
            self.polls_at_ms = next_ms.unwrap_or(u64::MAX);
        }
    }

    fn serve(&mut self, process: usize) {
        self.look();
        if self.due_in_ms(process) == 0 {
            self.processes[process].drove_at_ms = Some(self.now_ms);
            self.drive();
        }
        // Whoever it held may have been called just now.
        if self.processes[process].held > 0 {
            self.processes[process].looks_at_ms = self.now_ms + self.due_in_ms(process);
        }
    }

    fn due_in_ms(&self, process: usize) -> u64 {
        let drove_at_ms = self.processes[process].drove_at_ms;
        let driven_ms = drove_at_ms.map(|at_ms| self.now_ms - at_ms);
        fallback_tick_due_in_ms(self.view.is_promoter_down(), driven_ms)
    }

    fn drive(&mut self) {
        let pace = self.view.configuration.settings.pace();
        if now(take_fallback_tick_turn(&self.line, &self.queue, pace)).expect("it is there") {
            let ticked = now(run_fallback_tick(&self.line, &self.queue, None)).expect("it is there");
            self.ticked(&ticked);
        }
    }
}
