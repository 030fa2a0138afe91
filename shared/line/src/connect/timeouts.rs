//! The limits that all connections to Redis share.

use std::time::Duration;

/// How long a process waits for Redis.
#[derive(Debug)]
pub(crate) struct Timeouts {
    pub(super) connect: Duration,
    pub(super) response: Duration,
    /// The limit of one call with all of its steps: the test of an old link, a new link, and the
    /// script.
    pub(super) call: Duration,
}

impl Timeouts {
    /// A visitor's request waits for at most two calls and one read of the backup, and must end within
    /// 2 s.
    pub(crate) const PRODUCTION: &'static Self = &Self {
        connect: Duration::from_secs(1),
        response: Duration::from_millis(500),
        call: Duration::from_millis(600),
    };
    /// For tests of the rules of the line, on a machine that is busy with other tests.
    #[cfg(feature = "test-hooks")]
    pub(crate) const PATIENT: &'static Self = &Self {
        connect: Duration::from_secs(20),
        response: Duration::from_secs(20),
        call: Duration::from_secs(25),
    };
}

/// The limit of the command that tests a link. If an old link is alive but slower than this, it is
/// replaced, which does no harm.
pub(super) const PING_TIMEOUT: Duration = Duration::from_millis(200);
/// A link that was idle for longer than this is tested before it is used, in milliseconds. Its
/// socket may be dead without an error, because a Lambda thaws with the sockets that it froze with.
/// The client of a cluster manages its many connections itself: it replaces a broken one and sends
/// the command again.
pub(super) const PING_AFTER_IDLE_MS: u64 = 5_000;
