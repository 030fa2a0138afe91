//! Fallback ticks of each function that runs them. Without a promoter they alone open the queue, let the visitors in and write
//! to the table.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::state::EntryState;
use vestibule_tests::{
    api::Guest, entries::now_ms, functions::DeploymentConfig, in_process::ApiRequest,
    servers::closed_port_url, waiting::wait_until,
};

use crate::{BOUND, Stage};

const VISITORS: u64 = 4;
const OPENS_AFTER_MS: u64 = 2_000;
/// A process answers one visitor two requests a second.
const ASK_PAUSE: Duration = Duration::from_millis(500);

impl Stage {
    /// A queue that has opened without a tick, with visitors in line.
    async fn open_with_line(config: DeploymentConfig) -> (Self, Vec<Guest>) {
        let opens_at_ms = now_ms() + OPENS_AFTER_MS;
        let settings = json!({
            "capacity": 10, "batch": 1, "interval_seconds": 1, "presence_seconds": 0, "fast_track": false,
            "claim_seconds": 600, "opens_at_ms": opens_at_ms,
        });
        let stage = Self::open(config, settings).await;
        let mut visitors = Vec::new();
        for _ in 0..VISITORS {
            visitors.push(stage.enter().await.0);
        }
        wait_until(BOUND, "the queue opens", async || {
            stage.view().await.now_ms > opens_at_ms
        })
        .await;
        (stage, visitors)
    }

    /// Sends requests until they have let all visitors in and written that to the table.
    async fn expect_all_let_in(&self, visitors: &[Guest], mut send: impl AsyncFnMut()) {
        wait_until(BOUND, "all visitors are let in", async || {
            send().await;
            sleep(ASK_PAUSE).await;
            let view = self.view().await;
            view.ready == VISITORS && view.journal_len == 0
        })
        .await;
        let view = self.view().await;
        assert_eq!(view.heartbeat_ms, 0, "no promoter ran");
        let backup = &self.deployment.backup;
        let stored = backup.read_queue(&self.queue).await.expect("the table answers");
        let metadata = stored.expect("the queue").metadata;
        assert!(metadata.opened_at_ms.is_some(), "the table has the opening");
        assert!(metadata.watermark > 0, "the table has the fence");
        let partition = EntryPartition::from_configuration(&self.queue, &view.configuration);
        for visitor in visitors {
            let id = visitor.token.parse().expect("a token");
            let record = backup
                .read_entry(&partition, id)
                .await
                .expect("the table answers");
            assert_eq!(record.expect("a record").state, EntryState::Ready);
        }
    }
}

/// The places of the visitors are in the journal alone. So a tick writes two changes of the first visitor at once, and one
/// change after the other of the last.
pub(super) fn enter_without_table() -> DeploymentConfig {
    DeploymentConfig {
        table_urls: [("enter", closed_port_url())].into(),
        ..DeploymentConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_for_the_document_let_visitors_in() {
    let (stage, visitors) = Stage::open_with_line(enter_without_table()).await;
    let path = format!("/queues/{}", stage.queue);
    let ask = async || {
        stage.send(ApiRequest::get(path.clone())).await.expect_status(200);
    };
    stage.expect_all_let_in(&visitors, ask).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_requests_let_visitors_in() {
    let (stage, visitors) = Stage::open_with_line(enter_without_table()).await;
    let ask = async || {
        stage.get_status(&visitors[0]).await.expect_status(200);
    };
    stage.expect_all_let_in(&visitors, ask).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entering_visitors_let_visitors_in() {
    let (stage, visitors) = Stage::open_with_line(DeploymentConfig::default()).await;
    let ask = async || {
        stage
            .send(Guest::enter(stage.queue.as_str(), &visitors[0].id))
            .await
            .expect_status(200);
    };
    stage.expect_all_let_in(&visitors, ask).await;
    // Leaving reads the record, and writes the end.
    let leave = visitors[0].leave();
    stage.send(leave).await.expect_status(204);
}
