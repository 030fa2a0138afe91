//! How large a run is.

use std::{ops::Div, time::Duration};

/// How large a run is. A small one is for tests: it runs every part within some seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) is_small: bool,
}

impl Size {
    /// A count of entries, visitors, calls or rounds: a hundredth of it in a small run, and at least one.
    pub(crate) fn count<N: Copy + Div<Output = N> + From<u8> + Ord>(self, usual: N) -> N {
        self.count_of_at_least(usual, N::from(1))
    }

    /// The same for what needs more than one.
    pub(crate) fn count_of_at_least<N: Copy + Div<Output = N> + From<u8> + Ord>(
        self,
        usual: N,
        least: N,
    ) -> N {
        if self.is_small {
            (usual / N::from(100)).max(least)
        } else {
            usual
        }
    }

    /// A time in which something is measured: a tenth of it in a small run.
    pub(crate) fn time(self, usual: Duration) -> Duration {
        if self.is_small { usual / 10 } else { usual }
    }
}
