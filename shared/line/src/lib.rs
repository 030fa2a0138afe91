//! The line: the live, ordered state of each queue.
//!
//! A [`Line`] makes every decision that depends on order, pace or time. Each decision is one Lua script in `lua`, which
//! runs on Redis 7 or Valkey, on one server or in a cluster, or on the server inside the process
//! (`vestibule-line-embedded`). A script is atomic: the server runs no other command during it. It reads the server's
//! clock and uses the caller's clock as a [witness](vestibule_domain::clock).
//!
//! | folder | has |
//! | --- | --- |
//! | `lua/visit` | what visitors and the protected service do with one entry |
//! | `lua/tick` | what keeps a queue moving, and what tells how it goes |
//! | `lua/presence` | who is there: check-ins, closed pages, held polls |
//! | `lua/journal` | the outbox of the changes that the backup does not have yet |
//! | `lua/recovery` | what brings the line into agreement with the backup |
//! | `lua/operator` | what an operator does with waiting entries |
//! | `lua/include` | what several scripts share |
//! | `src/calls` | a typed call for each script |
//! | `src/answers` | what the calls take and answer |
//! | `src/connect` | the connection to the server |
//!
//! Two paths bring the line's decisions to the backup:
//!
//! - The caller writes the [`Change`](vestibule_domain::change::Change) from the answer after a
//!   request by a visitor or by the protected service.
//! - The journal is the outbox for the changes that [`Line::promote`] makes.
//!
//! Most methods take the queue as their first argument and fail with [`LineError::QueueNotFound`]
//! if the line does not have that queue. Each fails with [`LineError::Unavailable`] if the server does
//! not answer in time, and may have been carried out then. The budgets of held polls and [`Line::ping`] take
//! no queue, and [`Line::take_call`] does not need it. No type of Redis leaves this crate, but for tests.

mod answers;
mod calls;
mod connect;
mod journal_limits;
mod line;
mod line_error;
mod restored_entries;
mod tick_subscription;

use std::time::Duration;

pub use vestibule_domain::tally::QueueTotals;
#[cfg(feature = "embedded")]
pub use vestibule_line_embedded::{EmbeddedServer, LoadError};

#[cfg(feature = "test-hooks")]
pub use self::connect::{Sending, Tap, TappedRequest};
pub use self::{
    answers::*,
    connect::{Address, AddressError, IamLogin, IamUser, WallClock},
    journal_limits::JournalLimits,
    line::Line,
    line_error::LineError,
    restored_entries::{RestoredEntries, RestoredSession},
    tick_subscription::{Tick, TickSubscription},
};

/// How old a view may be that many processes share.
pub const VIEW_AGE_MAX: Duration = Duration::from_secs(1);

/// The maximum number of entries that one call of [`Line::promote`] moves or drops. A
/// longer call would delay every other caller, because the line runs one call at a time.
pub const PROMOTE_CHUNK: u64 = 1_000;

/// The maximum number of entries in one query of [`Line::status_many`]. A longer list takes
/// several queries.
pub const STATUS_CHUNK: usize = 500;

/// The maximum number of entries in one order of [`Line::evict_waiting`].
pub const EVICT_CHUNK: usize = 1_000;
