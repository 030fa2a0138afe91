//! The runner knows the address of a client from its connection alone.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{QUEUE, start_runner, temporary_folder};

#[tokio::test]
async fn source_of_a_visitor_is_that_of_the_connection() {
    let dir = temporary_folder();
    let runner = start_runner(&dir);
    let settings = json!({ "paused": true });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let mut sources = Vec::new();
    for header in ["X-Nothing", "X-Forwarded-For", "CloudFront-Viewer-Address"] {
        let request = runner
            .http()
            .post(runner.url(&format!("/queues/{QUEUE}/entries")));
        let request = request.header(header, "203.0.113.77:443").json(&json!({}));
        let entered: Value = request
            .send()
            .await
            .expect("answered")
            .json()
            .await
            .expect("JSON");
        let inspect = json!({ "op": "inspect", "queue": QUEUE, "token": entered["token"] });
        sources.push(runner.run_command(inspect).await["record"]["source"].clone());
    }
    assert!(sources[0].is_string(), "{sources:?}");
    assert!(sources.iter().all(|source| *source == sources[0]), "{sources:?}");

    let shown = json!({ "op": "sources", "queue": QUEUE });
    let before = runner.run_command(shown.clone()).await;
    assert_eq!(before["sources"][0]["entries"], 3);
    runner.stop("TERM", Duration::from_mins(1)).await;
    let restarted = start_runner(&dir);
    let after = restarted.run_command(shown).await;
    assert_eq!(
        after["sources"][0]["source"], sources[0],
        "a restart keeps the sources"
    );
    assert_eq!(after["sources"][0]["entries"], 3);
}
