//! A deployment between the visitors and the line: its ceilings, its CDN, and outages of its front door.

use std::ops::Range;

use vestibule_sizing::ceilings::Ceilings;

/// A deployment. The default one has no ceilings: every request is answered.
#[derive(Debug, Clone, Default)]
pub struct Deployment {
    /// How many requests per second each part serves. `None` if every part serves all.
    pub ceilings: Option<Ceilings>,
    /// How often the protected service validates an active visitor.
    pub checks: u32,
    /// While no request reaches the gateway and the promoter goes on, in milliseconds of the simulation.
    pub front_door_down_ms: Option<Range<u64>>,
    /// How the CDN keeps copies of the public document.
    pub cdn: CdnBehavior,
}

/// How the edge locations of the CDN keep copies of the public document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CdnBehavior {
    /// As `Cache-Control` says.
    #[default]
    Correct,
    /// Every second edge location returns its copy for this long, in milliseconds, whatever `Cache-Control` says.
    ServesOldCopies {
        /// The age of a copy at which such an edge location asks again.
        kept_ms: u64,
    },
}
