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

    /// The seed of the draw, if there is one. It is public once the queue has opened to a visitor.
    pub fn draw_seed(&self) -> Option<DrawSeed> {
        self.is_draw().then(|| DrawSeed::of_salt(&self.salt))
    }

    fn is_draw(&self) -> bool {
        self.settings.before_opening == BeforeOpening::Draw
    }

    /// When the queue opened, as a latch; `None` if it has not. `has_visits` is whether a visit has begun: the opening may be
    /// moved until a visitor comes, whether its time has passed or the queue has none.
    pub fn find_opening(&self, now_ms: u64, has_visits: bool) -> Option<u64> {
        let passed_ms = match self.settings.opens_at_ms {
            Some(at_ms) => (at_ms <= now_ms).then_some(at_ms),
            None => Some(now_ms),
        };
        self.opened_at_ms.or(passed_ms.filter(|_| has_visits))
    }
}
