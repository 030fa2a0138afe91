//! The widget of the dashboard in front of the admin function of the deployed stack.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::stack::Stack;

/// The HTML that the function answers under this name.
async fn show(stack: &Stack, endpoint: &str, event: &Value) -> String {
    let answer = stack.invoke(stack.output(endpoint), event).await;
    answer
        .as_str()
        .unwrap_or_else(|| panic!("no HTML: {answer}"))
        .to_owned()
}

async fn state(stack: &Stack, queue: &str) -> Value {
    stack.run_command(json!({ "op": "stats", "queue": queue })).await["state"].clone()
}

#[tokio::test]
async fn buttons_pause_and_resume_a_queue() {
    let stack = Stack::from_environment();
    let queue = format!("widget-{}", Uuid::new_v4());
    let settings = json!({ "capacity": 321, "batch": 20, "interval_seconds": 10 });
    stack
        .run_command(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;
    let html = show(&stack, "WidgetFunctionArn", &json!({ "queue": queue })).await;
    for text in [&*queue, "0 of 321", "20 each 10 s", ">Open<", "Pause"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    // That only the alias takes orders is tested in the browser: an emulator does not tell the function its alias.
    let pause = json!({ "show": queue, "order": "pause" });
    let html = show(&stack, "WidgetOrdersArn", &pause).await;
    assert!(html.contains("Done.") && html.contains(">Paused<"), "{html}");
    assert_eq!(state(&stack, &queue).await, "paused");
    let html = show(
        &stack,
        "WidgetOrdersArn",
        &json!({ "show": queue, "order": "resume" }),
    )
    .await;
    assert!(html.contains("Done.") && html.contains(">Open<"), "{html}");
    assert_eq!(state(&stack, &queue).await, "open");

    let message = json!({
        "show": queue, "order": "message",
        "widgetContext": { "forms": { "all": { "message": "Back at <9>" } } },
    });
    let html = show(&stack, "WidgetOrdersArn", &message).await;
    assert!(html.contains("Back at &lt;9&gt;"), "{html}");
    let refused = json!({ "show": "no-such-queue", "order": "pause" });
    let html = show(&stack, "WidgetOrdersArn", &refused).await;
    assert!(
        html.contains("Not done.") && html.contains("The queue does not exist"),
        "{html}"
    );
}
