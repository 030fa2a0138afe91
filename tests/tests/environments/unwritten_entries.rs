//! Entries that the function `enter` could not write to the table. The function that serves the visitor next writes them.

use serde_json::json;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::state::EntryState;
use vestibule_tests::{
    api::Guest, functions::DeploymentConfig, lines::tick_order, servers::closed_port_url, waiting::wait_until,
};

use crate::{BOUND, Stage};

impl Stage {
    /// A queue whose function `enter` does not reach the table.
    async fn open_without_written_entries(settings: serde_json::Value) -> Self {
        let config = DeploymentConfig {
            table_urls: [("enter", closed_port_url())].into(),
            ..DeploymentConfig::default()
        };
        Self::open(config, settings).await
    }

    async fn enter_unwritten(&self) -> Guest {
        let (visitor, entered) = self.enter().await;
        assert_eq!(entered.body["durable"], false, "{entered:?}");
        assert_eq!(self.read_state(&visitor).await, None);
        visitor
    }

    /// The state of an entry in the table; `None` if the table does not have it.
    async fn read_state(&self, visitor: &Guest) -> Option<EntryState> {
        let partition = EntryPartition::from_configuration(&self.queue, &self.view().await.configuration);
        let id = visitor.token.parse().expect("a token");
        let record = self.deployment.backup.read_entry(&partition, id).await;
        record.expect("the table answers").map(|record| record.state)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unwritten_entry_is_written_when_it_is_completed() {
    let stage = Stage::open_without_written_entries(json!({})).await;
    let visitor = stage.enter_unwritten().await;
    stage.complete(&visitor).await;
    assert_eq!(stage.read_state(&visitor).await, Some(EntryState::Completed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unwritten_entry_is_written_when_it_is_claimed() {
    let settings = json!({ "fast_track": false, "presence_seconds": 0 });
    let stage = Stage::open_without_written_entries(settings).await;
    let visitor = stage.enter_unwritten().await;
    // As by a promoter that was killed before it wrote the change.
    let promoted = stage.line.promote(&stage.queue, tick_order(1)).await;
    assert_eq!(promoted.expect("promoted").promoted, 1);
    stage.claim(&visitor).await.expect_status(200);
    assert_eq!(stage.read_state(&visitor).await, Some(EntryState::Active));
}

/// The authorizer finds that the session is over, before the promoter does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_of_an_unwritten_entry_is_written_by_the_authorizer() {
    let stage = Stage::open_without_written_entries(json!({ "session_seconds": 1 })).await;
    let (visitor, entered) = stage.enter().await;
    let ends_at_ms = entered.number("expires_at_ms");
    wait_until(BOUND, "the session is over", async || {
        stage.view().await.now_ms > ends_at_ms
    })
    .await;
    let bearer = format!("Bearer {}", visitor.token);
    let denied = stage
        .authorize(json!({ "authorization": bearer, "x-visitor-id": visitor.id }))
        .await;
    assert_eq!(denied["isAuthorized"], false, "{denied}");
    assert_eq!(stage.read_state(&visitor).await, Some(EntryState::Expired));
}
