//! Where scripts take the server's time from: from the command `TIME` inside them, unless the server
//! forbids that.

use redis::Cmd;

use super::{Line, connect::Request, time_source::TimeSource};
use crate::LineError;

impl Line {
    /// The time to pass to a script, in Unix microseconds; `None` if the script asks the server.
    pub(super) async fn time_for_script_us(&self) -> Result<Option<u64>, LineError> {
        match self.time_sources.current() {
            TimeSource::Script => Ok(None),
            TimeSource::Command | TimeSource::Caller => self.server_time_us().await.map(Some),
        }
    }

    /// Notes that a script failed because its `TIME` was refused. Returns whether that was so: then
    /// the script has changed nothing, and the caller sends it again with the time.
    pub(super) fn has_refused_time(&self, error: &LineError) -> bool {
        let is_refused = self.time_sources.current() == TimeSource::Script && is_refusal_of_time(error);
        if is_refused {
            self.time_sources.leave(TimeSource::Script);
        }
        is_refused
    }

    /// Reads the server's clock by a command, in Unix microseconds.
    pub(super) async fn server_time_us(&self) -> Result<u64, LineError> {
        if let Some(clock) = &self.given_clock {
            return Ok(clock());
        }
        if self.time_sources.current() < TimeSource::Caller {
            let answer = self.connection.send(Request::Command(&redis::cmd("TIME"))).await;
            match answer {
                Ok((seconds, micros)) => return Ok(seconds_and_micros(seconds, micros)),
                Err(error) if is_refusal_of_time(&error) => self.time_sources.leave(TimeSource::Command),
                Err(error) => return Err(error),
            }
        }
        Ok(self.witness_us())
    }
}

fn seconds_and_micros(seconds: u64, micros: u64) -> u64 {
    seconds * 1_000_000 + micros
}

/// Whether the server refuses `TIME` to this user, or to scripts. A refusal within a script does not
/// always name the command. If another one was refused, the script fails again with the time.
fn is_refusal_of_time(error: &LineError) -> bool {
    let LineError::Protocol(text) = error else {
        return false;
    };
    let text = text.to_lowercase();
    let in_script = [
        "not allowed from script",
        "executing the script can't run this command",
    ];
    (text.contains("'time'") && text.contains("permission"))
        || in_script.iter().any(|part| text.contains(part))
}

/// The command of a script with another first argument, which is the time.
pub(super) fn with_time(command: &Cmd, key_count: usize, time_us: u64) -> Cmd {
    // `EVALSHA`, a hash and the number of keys come before the keys.
    let position = 3 + key_count;
    let mut timed = Cmd::new();
    for (at, arg) in command.args_iter().enumerate() {
        match arg {
            redis::Arg::Simple(_) if at == position => timed.arg(time_us),
            redis::Arg::Simple(bytes) => timed.arg(bytes),
            _ => &mut timed,
        };
    }
    timed
}
