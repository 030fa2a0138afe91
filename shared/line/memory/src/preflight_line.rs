//! The answer to a preflight: this line has no server.

use async_trait::async_trait;
use vestibule_line::{LineError, PreflightLine, ServerAnswers};

use super::MemoryLine;

#[async_trait]
impl PreflightLine for MemoryLine {
    async fn ask_server(&self) -> Result<Option<ServerAnswers>, LineError> {
        Ok(None)
    }
}
