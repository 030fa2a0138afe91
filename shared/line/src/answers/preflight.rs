//! What the server of a line answers to a preflight.

use super::EvictionPolicy;

/// The most words that a command of the line has: a restore adds 1,000 entries with their scores, beside the name of the
/// command and of the key.
pub const COMMAND_WORDS_MAX: usize = 2_002;

/// What the server of a line answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAnswers {
    /// How the line logs in.
    pub login: ServerLogin,
    /// The user of the connections, if the server tells it.
    pub user: Option<String>,
    /// What a script found, or the server's reason for not running it.
    pub script: Result<ScriptAnswers, String>,
    /// Why the server refused a call with as many words as the longest command has.
    pub long_command: Result<(), String>,
    /// Whether a published message reached a subscription, or what failed.
    pub subscription: Result<(), String>,
    /// Whether the server deletes keys when its memory is full.
    pub eviction: EvictionPolicy,
    /// The memory of the server, or of the fullest node of a cluster, if the line's user may ask.
    pub memory: Option<ServerMemory>,
}

/// How a line logs in to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerLogin {
    /// With a token that IAM signs, for each connection.
    Iam,
    /// As the address of the server says: with a password, or without one.
    Address,
}

/// What a script found on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptAnswers {
    /// The name and the version of the server.
    pub version: String,
    /// Why the server refused `TIME` inside the script.
    pub time: Result<(), String>,
    /// The commands of the line that its user may not send; `None` if the server does not tell.
    pub refused_commands: Option<Vec<String>>,
}

/// The memory of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerMemory {
    /// What it uses, in bytes.
    pub used_bytes: u64,
    /// What it may use, in bytes. 0 if there is no limit.
    pub max_bytes: u64,
}
