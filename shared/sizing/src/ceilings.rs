//! How many requests per second each part of a deployment serves, and what each request costs the hash slot of the
//! queue.

use super::facts::{GATEWAY_BURST, GATEWAY_PER_SECOND, REQUESTS_PER_EXECUTION};

/// What an entry poll costs the slot. The costs of other requests are relative to it.
pub const POLL_COST: u64 = 1_000;
/// What it costs to promote one entry, and to flush its journal record: `make bench NAME=line` measures 4 µs for the
/// promotion, where a poll takes 25 µs.
pub const PROMOTION_COST: u64 = 250;
/// What a tick costs that promotes no entry: the script, the snapshot and the journal.
pub const TICK_COST: u64 = 5_000;
/// What it costs to read how far a lane has moved, for the answer to a visitor far from the head.
pub const LANE_COST: u64 = 300;
/// What a held poll costs per second: its process reads the snapshot of the queue, and asks nothing else until a tick
/// concerns the entry.
pub const HELD_COST: u64 = 200;
/// What reading the snapshot of the queue costs per request. A process reads it once a second for a fifth of a poll,
/// and serves about ten requests in that time.
const SNAPSHOT_COST: u64 = 20;

/// The requests that reach a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Read the public document, from a CDN.
    Document,
    /// Enter the line.
    Enter,
    /// Leave the line.
    Leave,
    /// Ask for the status of an entry.
    Status,
    /// Claim a turn.
    Claim,
    /// Ask whether a visitor may act, by the protected service.
    Validate,
    /// Complete a visit, by the protected service.
    Complete,
}

/// The functions that serve the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Serves the public document.
    Document,
    /// Serves entering and leaving.
    Enter,
    /// Serves status requests.
    Status,
    /// Serves claims.
    Claim,
    /// Serves the protected service.
    Validate,
}

/// The number of functions.
pub const FUNCTIONS: usize = 5;

/// The names of the functions in the parameters of the template, in the order of [`Function`].
pub const FUNCTION_NAMES: [&str; FUNCTIONS] = ["Document", "Enter", "Status", "Claim", "Validate"];

/// The ceilings of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Requests per second that the gateway serves.
    pub gateway_per_second: u32,
    /// Requests that the gateway serves at once.
    pub gateway_burst: u32,
    /// The reserved concurrency of each [`Function`].
    pub concurrency: [u32; FUNCTIONS],
    /// Entry polls per second that the hash slot of the queue answers.
    pub slot_polls_per_second: u32,
}

impl Ceilings {
    /// Those of the size `sale` of `template.yaml`, with a cache whose hash slot answers this many entry polls per second.
    pub fn with_slot(slot_polls_per_second: u32) -> Self {
        Self {
            gateway_per_second: GATEWAY_PER_SECOND.whole(),
            gateway_burst: GATEWAY_BURST.whole(),
            concurrency: [100, 53, 300, 50, 100],
            slot_polls_per_second,
        }
    }

    /// Sets the reserved concurrency of a function, as its parameter does.
    #[must_use]
    pub fn with_concurrency(mut self, function: Function, concurrency: u32) -> Self {
        self.concurrency[function as usize] = concurrency;
        self
    }

    /// Sets the concurrency of a function so that it serves this many requests per second.
    #[must_use]
    pub fn with_rate(self, function: Function, per_second: f64) -> Self {
        self.with_concurrency(function, executions(per_second))
    }

    /// Raises the concurrency of a function, if it serves less than this many requests per second.
    #[must_use]
    pub fn with_at_least_rate(self, function: Function, per_second: f64) -> Self {
        let needed = executions(per_second);
        self.with_concurrency(function, needed.max(self.concurrency[function as usize]))
    }

    /// Requests per second that a function serves.
    pub fn function_per_second(&self, function: Function) -> u32 {
        self.concurrency[function as usize] * REQUESTS_PER_EXECUTION.whole()
    }
}

impl Route {
    /// The function that serves the request.
    pub fn function(self) -> Function {
        match self {
            Self::Document => Function::Document,
            Self::Enter | Self::Leave => Function::Enter,
            Self::Status => Function::Status,
            Self::Claim => Function::Claim,
            Self::Validate | Self::Complete => Function::Validate,
        }
    }

    /// Whether the gateway throttles the route by a limit of its own, which is that of the function. A request beyond it
    /// takes nothing from the limit of the account.
    pub fn has_own_throttle(self) -> bool {
        matches!(self, Self::Document | Self::Enter | Self::Claim | Self::Validate)
    }

    /// What the request costs the slot, by the ECPU of its script: 12.7 for `enter` and 9.5 for `status`.
    pub fn slot_cost(self) -> u64 {
        let script = match self {
            Self::Document => 0,
            Self::Status | Self::Validate => POLL_COST,
            Self::Enter | Self::Leave | Self::Claim | Self::Complete => 1_300,
        };
        script + SNAPSHOT_COST
    }

    /// Whether the protected service sends the request, and not the visitor.
    pub fn is_of_service(self) -> bool {
        matches!(self, Self::Validate | Self::Complete)
    }
}

/// The executions that serve this many requests per second.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn executions(per_second: f64) -> u32 {
    (per_second / REQUESTS_PER_EXECUTION.value).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        facts::{HELD_BUDGET, SERVERLESS_SLOT_POLLS},
        sizes::number_by_size,
    };

    #[test]
    fn ceilings_are_those_of_a_sale() {
        let of_sale = |parameter: &str| number_by_size("sale", parameter).expect("a number");
        let ceilings = Ceilings::with_slot(SERVERLESS_SLOT_POLLS.whole());
        for (function, name) in [
            (Function::Document, "Document"),
            (Function::Enter, "Enter"),
            (Function::Status, "Status"),
            (Function::Claim, "Claim"),
            (Function::Validate, "Validate"),
        ] {
            let concurrency = of_sale(&format!("{name}Concurrency"));
            assert_eq!(ceilings.concurrency[function as usize], concurrency, "{name}");
            if function != Function::Status {
                let throttle = of_sale(&format!("{name}ThrottleRate"));
                assert_eq!(ceilings.function_per_second(function), throttle, "{name}");
            }
        }
        assert_eq!(HELD_BUDGET.whole(), of_sale("HeldBudget"));
    }
}
