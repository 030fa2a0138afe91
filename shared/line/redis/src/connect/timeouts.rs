//! The limits that all connections to Redis share.

use std::time::Duration;

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The limit of the command that tests a link. If an old link is alive but slower than this, it is
/// replaced, which does no harm.
pub(super) const PING_TIMEOUT: Duration = Duration::from_millis(200);
/// A link that was idle for longer than this is tested before it is used, in milliseconds. Its
/// socket may be dead without an error, because a Lambda thaws with the sockets that it froze with.
/// The client of a cluster manages its many connections itself: it replaces a broken one and sends
/// the command again.
pub(super) const PING_AFTER_IDLE_MS: u64 = 5_000;
