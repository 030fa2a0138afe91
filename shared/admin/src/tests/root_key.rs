//! Commands while the root key cannot be read.

use std::{
    future::ready,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use vestibule_domain::id::RootKey;

use super::{AdminFixture, Arc, root_key};
use crate::OperatorRootKey;

#[tokio::test]
async fn only_a_command_that_names_a_visitor_needs_the_root_key() {
    let mut desk = AdminFixture::with_queue(json!({})).await;
    let entry = desk.enter("ada").await;
    let is_readable = Arc::<AtomicBool>::default();
    let readable = is_readable.clone();
    desk.admin.root_key = OperatorRootKey::fetched_by(Box::new(move || {
        let read = readable.load(Ordering::SeqCst).then(root_key);
        Box::pin(ready(read.ok_or_else(|| "AccessDeniedException".to_owned())))
    }));
    desk.run(json!({ "op": "pause", "queue": "q" })).await;
    desk.run(json!({ "op": "inspect", "queue": "q", "token": entry.to_string() }))
        .await;
    let inspect = json!({ "op": "inspect", "queue": "q", "visitor": "ada" });
    let problem = desk.run_refused(inspect.clone()).await;
    assert_eq!(problem["code"], "keys-unavailable", "{problem}");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains("by its token") && detail.contains("AccessDeniedException"),
        "{detail}"
    );
    is_readable.store(true, Ordering::SeqCst);
    assert_eq!(desk.run(inspect).await["token"], entry.to_string());
}

#[tokio::test]
async fn a_reset_ties_the_queue_to_the_present_key() {
    let mut desk = AdminFixture::with_queue(json!({})).await;
    let inspect = json!({ "op": "inspect", "queue": "q", "visitor": "ada" });
    let finding = async |desk: &AdminFixture| {
        let shown = desk.run(json!({ "op": "preflight" })).await;
        let findings = shown["findings"].as_array().expect("findings").clone();
        findings
            .into_iter()
            .find(|finding| finding["check"] == "root-key")
            .expect("a finding")
    };
    assert_eq!(finding(&desk).await["outcome"], "ok");
    desk.admin.root_key = RootKey::new(vec![9; 32]).expect("long enough").into();
    assert_eq!(finding(&desk).await["outcome"], "fault");
    let problem = desk.run_refused(inspect.clone()).await;
    assert_eq!(problem["code"], "other-root-key", "{problem}");
    desk.run(json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    assert_eq!(finding(&desk).await["outcome"], "ok");
    let shown = desk.run(inspect).await;
    assert_eq!(shown["kind"], "known", "the key is the right one now: {shown}");
}
