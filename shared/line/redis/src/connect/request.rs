//! What one call sends. It is data and not a closure, so that a call can send it again.

use redis::{Cmd, ErrorKind, FromRedisValue, Pipeline, RedisResult, Script, ServerErrorKind};

use super::call_link::CallLink;

/// The commands of one call.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
    /// A call of a script by its hash. The script is loaded first if the server does not have it.
    Script {
        command: &'a Cmd,
        script: &'a Script,
    },
}

impl Request<'_> {
    pub(super) async fn send<T: FromRedisValue>(self, mut link: CallLink) -> RedisResult<T> {
        match self {
            Self::Command(command) => command.query_async(&mut link).await,
            Self::Pipeline(pipeline) => pipeline.query_async(&mut link).await,
            Self::Script { command, script } => match command.query_async(&mut link).await {
                Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                    script.load_async(&mut link).await?;
                    command.query_async(&mut link).await
                }
                answer => answer,
            },
        }
    }
}
