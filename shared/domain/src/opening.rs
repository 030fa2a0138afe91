//! The opening of a queue: the moment from which entries are promoted, which is a latch.
//!
//! Every step of the line compares its own line time with `opens_at_ms`, so the queue opens without a process that opens
//! it. A tick, and a change of the settings, record that the queue has opened. From then on `opens_at_ms` has no effect.
//! `docs/adr/0036-opening-and-draw.md` has the reasons.

use crate::{
    configuration::Configuration,
    draw::DrawSeed,
    settings::{BeforeOpening, Settings},
};

impl Settings {
    /// Whether the time of the opening is in the future at `now_ms`, in Unix milliseconds of line time.
    pub fn opens_later(&self, now_ms: u64) -> bool {
        self.opens_at_ms.is_some_and(|at_ms| now_ms < at_ms)
    }
}

impl Configuration {
    /// Whether the queue has not opened yet at `now_ms`, in Unix milliseconds of line time. The script
    /// `include/opening.lua` has the same rule.
    pub fn is_scheduled(&self, now_ms: u64) -> bool {
        self.opened_at_ms.is_none() && self.settings.opens_later(now_ms)
    }

    /// Whether entries may be promoted, or admitted on the fast track where visitors may enter, at
    /// `now_ms`, in Unix milliseconds of line time.
    pub fn can_promote(&self, now_ms: u64) -> bool {
        !self.settings.stops_promotion(now_ms) && !self.is_scheduled(now_ms)
    }

    /// The seed of the draw, if the visitors who enter now may be drawn: the queue may not have opened yet. A step of the
    /// line decides by its own time.
    pub fn draw_before_opening(&self) -> Option<DrawSeed> {
        let may_draw = self.opened_at_ms.is_none() && self.settings.opens_at_ms.is_some();
        (may_draw && self.is_draw()).then(|| DrawSeed::of_salt(&self.salt))
    }

    /// The seed of the draw, if there is one, which is public from the opening on.
    pub fn draw_seed(&self) -> Option<DrawSeed> {
        self.is_draw().then(|| DrawSeed::of_salt(&self.salt))
    }

    /// Whether the queue has opened by its setting at `now_ms`, in Unix milliseconds of line time.
    pub fn has_opened(&self, now_ms: u64) -> bool {
        let has_passed = self.settings.opens_at_ms.is_some_and(|at_ms| at_ms <= now_ms);
        self.opened_at_ms.is_some() || has_passed
    }

    fn is_draw(&self) -> bool {
        self.settings.before_opening == BeforeOpening::Draw
    }

    /// When a queue of these settings opened that is not recorded to have opened; `None` if it has not, or has no
    /// time to open. `has_visits` is whether a visit has begun: a queue without such a time is open to the first visitor,
    /// and may be scheduled until that visitor comes.
    pub fn find_opening(&self, now_ms: u64, has_visits: bool) -> Option<u64> {
        match self.settings.opens_at_ms {
            _ if self.opened_at_ms.is_some() => self.opened_at_ms,
            Some(at_ms) => (at_ms <= now_ms).then_some(at_ms),
            None => has_visits.then_some(now_ms),
        }
    }
}
