//! The load reports of the protected service.

use vestibule_domain::{
    load::{LastLoadReport, LoadReport},
    settings::Settings,
};
use vestibule_tests::lines::Subject;

pub(crate) async fn a_load_report_expires_after_a_minute(mut subject: Subject) {
    subject.open(Settings::default()).await;
    assert_eq!(subject.view().await.valid_load(), None);
    let whole = LoadReport {
        tps: Some(1_200),
        latency_ms: Some(35),
        healthy: true,
    };
    subject
        .line
        .record_load(&subject.queue, &whole)
        .await
        .expect("record_load");
    let at_ms = subject.clock.now_ms();
    subject.advance_ms(59_999);
    assert_eq!(
        subject.view().await.valid_load(),
        Some(LastLoadReport { report: whole, at_ms })
    );
    subject.advance_ms(1);
    assert_eq!(
        subject.view().await.valid_load(),
        None,
        "a report expires after a minute"
    );
}

pub(crate) async fn a_new_load_report_replaces_the_last_one(mut subject: Subject) {
    subject.open(Settings::default()).await;
    let whole = LoadReport {
        tps: Some(1_200),
        latency_ms: Some(35),
        healthy: true,
    };
    let bare = LoadReport {
        tps: None,
        latency_ms: None,
        healthy: false,
    };
    for report in [whole, bare] {
        subject
            .line
            .record_load(&subject.queue, &report)
            .await
            .expect("record_load");
        subject.advance_ms(1);
    }
    assert_eq!(
        subject.view().await.valid_load().map(|load| load.report),
        Some(bare)
    );
    let other = subject.open_sibling(Settings::default()).await;
    assert_eq!(
        other.view().await.valid_load(),
        None,
        "a report belongs to one queue only"
    );
}
