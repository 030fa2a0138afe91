//! Fallback ticks. While the promoter is down, each process that serves a request ticks the queue once a second
//! for as long as the request lasts, if the line gives it the turn.

use vestibule_domain::fallback_tick::{fallback_tick_due_in_ms, promoter_down_after_ms};
use vestibule_line::FallbackTickOrder;

use super::{
    clients::FIXED_POLL_MS,
    process::{PROCESSES, process_of},
    state::{Simulation, resolve},
};

/// The least time between two fallback ticks of a queue over all processes, in milliseconds: as the functions
/// have it.
const FALLBACK_TICK_INTERVAL_MS: u64 = 900;

impl Simulation {
    /// Serves a request of a visitor to enter or to poll.
    pub(super) fn serve_request(&mut self, visitor: u32) {
        self.offer_fallback_tick(process_of(visitor));
    }

    /// Adds the polls of a fixed client that has entered the line.
    pub(super) fn start_fixed_polls(&mut self, visitor: u32) {
        self.fixed_polls
            .add(self.visitors[visitor as usize].drawn.arrives_at_ms);
        self.fixed_polls_at_ms = self.fixed_polls_at_ms.min(self.now_ms + FIXED_POLL_MS);
    }

    /// When a request may next run a fallback tick without changing anything for its visitor: a held poll, or a
    /// poll of a fixed client.
    pub(super) fn next_background_request_ms(&self) -> u64 {
        let held = self.processes.iter().map(|process| process.offers_at_ms);
        held.fold(self.fixed_polls_at_ms, u64::min)
    }

    /// Serves the requests of that time.
    pub(super) fn run_background_requests(&mut self) {
        for process in 0..PROCESSES {
            if self.processes[process].offers_at_ms <= self.now_ms {
                self.offer_fallback_tick(process);
            }
        }
        if self.fixed_polls_at_ms <= self.now_ms {
            if self.fixed_polls.next_ms(self.now_ms) == Some(self.now_ms) {
                self.offer_fallback_tick(usize::try_from(self.now_ms).unwrap_or(0) % PROCESSES);
            }
            // While the promoter runs, further polls with the same snapshot do nothing.
            let from_ms = if self.view.is_promoter_down() {
                self.now_ms + 1
            } else {
                self.viewed_at_ms + self.view_ms_max()
            };
            let next_ms = self.fixed_polls.next_ms(from_ms.max(self.now_ms + 1));
            self.fixed_polls_at_ms = next_ms.unwrap_or(u64::MAX);
        }
    }

    fn offer_fallback_tick(&mut self, process: usize) {
        self.refresh_view();
        if self.fallback_tick_due_in_ms(process) == 0 {
            self.processes[process].offered_at_ms = Some(self.now_ms);
            self.run_fallback_tick();
        }
        // The tick may have released all polls that the process held.
        if self.processes[process].held_polls > 0 {
            self.processes[process].offers_at_ms = self.now_ms + self.fallback_tick_due_in_ms(process);
        }
    }

    fn fallback_tick_due_in_ms(&self, process: usize) -> u64 {
        let offered_at_ms = self.processes[process].offered_at_ms;
        let offered_age_ms = offered_at_ms.map(|at_ms| self.now_ms - at_ms);
        fallback_tick_due_in_ms(self.view.is_promoter_down(), offered_age_ms)
    }

    fn run_fallback_tick(&mut self) {
        let pace = self.view.configuration.settings.pace();
        let order = FallbackTickOrder {
            promoter_down_after_ms: promoter_down_after_ms(pace.interval_ms),
            every_ms: FALLBACK_TICK_INTERVAL_MS,
        };
        if resolve(self.line.take_fallback_tick(&self.queue, order)).expect("the queue exists") {
            self.promote(false);
        }
    }
}
