//! Calls of an API that the authorizer protects.

/// The answer to [`Line::take_call`](crate::Line::take_call).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The line counts the call.
    Counted,
    /// The limit allows no call now.
    TooMany {
        /// When the limit allows the next call, in milliseconds from now; 1 at least.
        retry_after_ms: u64,
    },
}

impl CallOutcome {
    /// The answer to a call that has to wait for this many microseconds.
    pub fn from_wait_us(wait_us: u64) -> Self {
        match wait_us {
            0 => Self::Counted,
            wait_us => Self::TooMany {
                retry_after_ms: wait_us.div_ceil(1_000),
            },
        }
    }
}
