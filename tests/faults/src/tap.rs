//! [`Faults`] between a line and its server.

use async_trait::async_trait;
use redis::Value;
use vestibule_line::{LineError, Sending, Tap, TappedRequest};

use crate::{Fault, Faults};

#[async_trait]
impl Tap for Faults {
    async fn answer(&self, request: &TappedRequest, sending: Sending<'_>) -> Result<Value, LineError> {
        if let Some(answer) = self.given_answer(&request.name) {
            return Ok(answer);
        }
        let call = self
            .begin(&request.name, request.queue.as_deref())
            .await
            .map_err(line_error)?;
        let answer = sending.await;
        if let Ok(answer) = &answer {
            self.keep_frozen(&request.name, answer);
        }
        call.end().await.map_err(line_error)?;
        answer
    }
}

fn line_error(fault: Fault) -> LineError {
    match fault {
        Fault::Unavailable => LineError::Unavailable("a test made the line unavailable".to_owned()),
        Fault::Throttled => LineError::JournalFull,
        Fault::Rejected => LineError::Protocol("a test made the line reject the call".to_owned()),
    }
}
