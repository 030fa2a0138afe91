//! The widget of the dashboard, which invokes the admin function.

use serde_json::{Value, json};
use vestibule_tests::functions::DeploymentConfig;

use crate::Stage;

impl Stage {
    async fn show_widget(&self, event: Value) -> String {
        let html = self.deployment.lambda.invoke("widget", &event).await;
        let html = html.expect("an answer");
        html.as_str()
            .unwrap_or_else(|| panic!("no HTML: {html}"))
            .to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn button_of_the_widget_pauses_the_queue() {
    let stage = Stage::open(DeploymentConfig::default(), json!({ "capacity": 321 })).await;
    let html = stage.show_widget(json!({ "queue": stage.queue.as_str() })).await;
    assert!(html.contains("0 of 321") && html.contains(">Open<"), "{html}");
    let html = stage
        .show_widget(json!({ "show": stage.queue.as_str(), "order": "pause" }))
        .await;
    assert!(html.contains("Done.") && html.contains(">Paused<"), "{html}");
    assert!(stage.view().await.configuration.settings.paused);
}
