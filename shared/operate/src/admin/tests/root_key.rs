//! Commands while the root key cannot be read.

use std::{
    future::ready,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::json;

use super::{AdminFixture, Arc, root_key};
use crate::admin::OperatorRootKey;

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
