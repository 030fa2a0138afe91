//! The names that the in-process API had before it became a backend of the HTTP suite.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc, missing_docs)]

use serde_json::Value;

pub use crate::in_process::{
    ApiRequest as Ask, ApiResponse as Answer, BOUND, ISSUER, InProcessApi as EdgeUnderTest, QUEUE,
    build_router as process, configuration, entry_path as entry, event, keys, local_config as local,
    queue_id as queue, send_to, signer, with_claims, with_header,
};

impl Answer {
    pub fn is(&self, status: u16) -> &Self {
        self.expect_status(status)
    }

    pub fn is_problem(&self, status: u16, code: &str) -> &Self {
        self.expect_problem(status, code)
    }

    pub fn refuses(&self, field: &str) -> &Self {
        self.expect_invalid_field(field)
    }
}

impl EdgeUnderTest {
    pub async fn open(settings: Value) -> Self {
        Self::start(settings).await
    }

    pub async fn without_backup(settings: Value) -> Self {
        Self::start_without_backup(settings).await
    }

    pub fn pass_seconds(&self, seconds: u64) {
        self.advance_seconds(seconds);
    }
}
