//! What the commands show while the clocks are apart.

use std::sync::Arc;

use serde_json::json;
use vestibule_line::Line;

use super::AdminFixture;

#[tokio::test]
async fn commands_show_that_the_clocks_are_apart() {
    let (right_us, hour_us) = (1_800_000_000_000_000_u64, 3_600_000_000);
    let mut desk = AdminFixture::new();
    let line = Line::in_process_with_clock(Arc::new(move || right_us + hour_us));
    desk.admin.line = line.clone().with_witness(Arc::new(move || right_us));
    desk.run(json!({ "op": "create", "queue": "q" })).await;
    desk.enter("a").await;
    let held = json!({ "apart": true, "ahead_ms": 3_600_000, "offset_ms": 0 });
    for op in ["stats", "describe"] {
        let shown = desk.run(json!({ "op": op, "queue": "q" })).await;
        assert_eq!(shown["clock"], held, "{op}");
    }
    let listed = desk.run(json!({ "op": "list" })).await;
    assert_eq!(listed["queues"][0]["clocks_apart"], true);
    let promoted = desk
        .run(json!({ "op": "promote", "queue": "q", "count": 1 }))
        .await;
    assert_eq!(
        (&promoted["promoted"], &promoted["limited_by"]),
        (&json!(0), &json!("clock"))
    );

    desk.admin.line = line;
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    assert_eq!(
        stats["clock"],
        json!({ "apart": false, "ahead_ms": 0, "offset_ms": 0 })
    );
}
