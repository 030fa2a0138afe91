//! A connection that reads and writes a server past the line under test.

use redis::{
    Cmd, Pipeline, RedisFuture, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use vestibule_line::EmbeddedServer;

/// A connection to the server that holds a queue.
#[derive(Clone)]
pub enum RawLink {
    /// To Redis or Valkey.
    Server(MultiplexedConnection),
    /// To the server inside this process.
    Embedded(EmbeddedServer),
}

impl ConnectionLike for RawLink {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Server(server) => server.req_packed_command(command),
            Self::Embedded(server) => server.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Server(server) => server.req_packed_commands(commands, offset, count),
            Self::Embedded(server) => server.req_packed_commands(commands, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        0
    }
}
