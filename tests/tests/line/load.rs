//! What the protected service says of its load.

use vestibule_domain::{
    load::{LastLoadReport, LoadReport},
    settings::Settings,
};
use vestibule_tests::lines::Subject;

pub(crate) async fn a_load_report_is_kept_for_a_minute(mut subject: Subject) {
    subject.open(Settings::default()).await;
    assert_eq!(subject.view().await.load, None);
    let whole = LoadReport {
        tps: 1_200,
        latency_ms: Some(35),
        healthy: true,
    };
    subject
        .line
        .record_load(&subject.queue, &whole)
        .await
        .expect("kept");
    let at_ms = subject.clock.now_ms();
    subject.advance_ms(59_999);
    assert_eq!(
        subject.view().await.load,
        Some(LastLoadReport { report: whole, at_ms })
    );
    subject.advance_ms(1);
    assert_eq!(subject.view().await.load, None, "it is a minute old");
}

pub(crate) async fn the_last_load_report_counts_and_nothing_of_those_before(mut subject: Subject) {
    subject.open(Settings::default()).await;
    let whole = LoadReport {
        tps: 1_200,
        latency_ms: Some(35),
        healthy: true,
    };
    let bare = LoadReport {
        tps: 0,
        latency_ms: None,
        healthy: false,
    };
    for report in [whole, bare] {
        subject
            .line
            .record_load(&subject.queue, &report)
            .await
            .expect("kept");
        subject.advance_ms(1);
    }
    assert_eq!(subject.view().await.load.map(|load| load.report), Some(bare));
    let other = subject.open_sibling(Settings::default()).await;
    assert_eq!(other.view().await.load, None, "of one queue alone");
}
