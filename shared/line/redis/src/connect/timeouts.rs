//! The limits that all connections to Redis share.

use std::time::Duration;

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The limit of the ping that tests an old link. A link that is alive but slower than this is
/// replaced, which does no harm.
pub(super) const PING_TIMEOUT: Duration = Duration::from_millis(200);
/// A link that was idle for longer than this is pinged before it is used, in milliseconds. Its
/// socket may be dead without an error, because a Lambda thaws with the sockets that it froze with.
/// The client of a cluster manages its many connections itself: it replaces a broken one and sends
/// the command again.
pub(super) const PING_AFTER_IDLE_MS: u64 = 5_000;
