//! What all visitors of a rehearsal share.

use crate::{api::Api, gauges::Gauges, stop::StopSignal};

/// What all visitors of a rehearsal share.
pub(crate) struct Scene {
    /// The API of the queue.
    pub(crate) api: Api,
    /// How many visitors are where.
    pub(crate) gauges: Gauges,
    /// How often the protected service validates an active visitor.
    pub(crate) checks: u32,
    /// Ends the rehearsal.
    pub(crate) stop: StopSignal,
}
