//! What longer settings have given out holds after a change to shorter ones, also in a line that lost its data.

use serde_json::{Value, json};
use vestibule_domain::entry_status::EntryStatus;
use vestibule_engine::write_through::write_through;
use vestibule_line::{ClaimOutcome, EntryLookup, LeaveOutcome, LeaveReason};

use super::{AdminFixture, entry_partition, queue};

#[tokio::test]
async fn a_restore_keeps_what_longer_settings_have_given_out() {
    let settings = json!({
        "capacity": 2, "batch": 1, "interval_seconds": 3600, "fast_track": false, "pass_seconds": 60, "claim_seconds": 60,
    });
    let desk = AdminFixture::with_queue(settings).await;
    let promote = async |token: String| {
        let order = json!({ "op": "promote", "queue": "q", "token": token, "over_pace": true });
        desk.run(order).await
    };
    let (ada, bob) = (desk.enter("ada").await, desk.enter("bob").await);
    promote(ada.to_string()).await;
    let claimed = desk.line().claim(&queue(), ada).await;
    let Ok(ClaimOutcome::Active { change, .. }) = claimed else {
        panic!("{claimed:?}");
    };
    let written = write_through(desk.line(), desk.backup(), &entry_partition(), &change).await;
    written.expect("written");

    let changed_at_ms = vestibule_telemetry::clock::now_ms();
    let shorter = json!({ "pass_seconds": 2, "claim_seconds": 10, "grace_seconds": 5 });
    desk.run(json!({ "op": "update", "queue": "q", "settings": shorter }))
        .await;
    let restored = desk
        .run(json!({ "op": "restore", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    assert_eq!(restored["epoch"], json!(2), "{restored}");

    let kept = desk.stored_queue().await.metadata.kept_times;
    assert!(
        kept.grace_seconds == 600 && kept.grace_until_ms >= changed_at_ms + 600_000,
        "{kept:?}"
    );
    let in_force = desk.line().queue_view(&queue()).await.expect("a view");
    assert_eq!(in_force.configuration.kept_times, kept);

    promote(bob.to_string()).await;
    let status = desk.line().status(&queue(), bob).await;
    let Ok(EntryLookup::Found(EntryStatus::Ready { claim_by_ms, .. })) = status else {
        panic!("{status:?}");
    };
    assert!(
        claim_by_ms >= changed_at_ms + 60_000,
        "clients may still poll as before"
    );
    let left = desk.line().leave(&queue(), ada, None, LeaveReason::Leave).await;
    let Ok(LeaveOutcome::Ended(end)) = left else {
        panic!("{left:?}");
    };
    assert!(
        end.fact().step_ms >= changed_at_ms + 60_000,
        "a pass of the former length may still be shown: {end:?}"
    );

    // A reset voids all passes, and its line begins anew.
    let reset = json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 2 });
    desk.run(reset).await;
    let kept: Value = json!(desk.stored_queue().await.metadata.kept_times.to_string());
    assert_eq!(kept, json!("0 0 0 0 0"));
}
