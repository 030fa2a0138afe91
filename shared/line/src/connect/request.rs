//! What one call sends. It is data and not a closure, so that a call can send it again.

#[cfg(feature = "test-hooks")]
use redis::Arg;
use redis::{Cmd, ErrorKind, FromRedisValue, Pipeline, RedisResult, Script, ServerErrorKind};

use super::call_link::CallLink;
#[cfg(feature = "test-hooks")]
use super::tap::{TappedRequest, hash_tag};

/// The commands of one call.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
    /// A call of a script by its hash. The script is loaded first if the server does not have it.
    Script {
        #[cfg_attr(not(feature = "test-hooks"), expect(dead_code, reason = "a tap reads it"))]
        name: &'static str,
        command: &'a Cmd,
        script: &'a Script,
        /// Whether it may be sent once more when it is not known whether it ran.
        may_run_twice: bool,
    },
}

impl Request<'_> {
    pub(super) async fn send<T: FromRedisValue>(self, mut link: CallLink) -> RedisResult<T> {
        match self {
            Self::Command(command) => command.query_async(&mut link).await,
            Self::Pipeline(pipeline) => pipeline.query_async(&mut link).await,
            Self::Script { command, script, .. } => match command.query_async(&mut link).await {
                Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                    script.load_async(&mut link).await?;
                    command.query_async(&mut link).await
                }
                answer => answer,
            },
        }
    }

    /// Whether the request may be sent once more when it is not known whether it ran. Plain commands only read, or say what
    /// is to be true afterwards.
    pub(super) fn may_run_twice(&self) -> bool {
        match self {
            Self::Command(_) | Self::Pipeline(_) => true,
            Self::Script { may_run_twice, .. } => *may_run_twice,
        }
    }

    /// What a tap learns of this request.
    #[cfg(feature = "test-hooks")]
    pub(super) fn describe(&self) -> TappedRequest {
        let (script, command) = match self {
            Self::Command(command) => (None, Some(*command)),
            Self::Pipeline(pipeline) => (None, pipeline.cmd_iter().next()),
            Self::Script { name, command, .. } => (Some(*name), Some(*command)),
        };
        let words: Vec<_> = command
            .into_iter()
            .flat_map(Cmd::args_iter)
            .filter_map(|word| match word {
                Arg::Simple(word) => Some(word),
                _ => None,
            })
            .collect();
        let command = words
            .first()
            .map(|word| String::from_utf8_lossy(word).to_lowercase());
        TappedRequest {
            name: script.map(str::to_owned).or(command).unwrap_or_default(),
            queue: words.into_iter().find_map(hash_tag),
        }
    }
}
