//! A pace that follows the load reports of the protected service.

use vestibule_domain::{
    load::LoadReport,
    pace::LimitedBy,
    settings::{LoadMeasure, Mode, Settings},
    state::EntryState,
};
use vestibule_line::Promotion;
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::{bounded, in_turn};

/// 2 to 12 entries a second, at 1,000 to 500 requests a second.
fn adaptive() -> Settings {
    in_turn(Settings {
        adaptive: true,
        batch_min: 2,
        batch_max: 12,
        load_low: 500,
        load_high: 1_000,
        load_ttl_seconds: 10,
        ..bounded(1_000_000, 7, 1)
    })
}

async fn report(subject: &Subject, tps: u32, latency_ms: Option<u32>, healthy: bool) {
    let report = LoadReport {
        tps: Some(tps),
        latency_ms,
        healthy,
    };
    let recorded = subject.line.record_load(&subject.queue, &report).await;
    recorded.expect("recorded");
}

async fn tick_after_a_second(subject: &Subject) -> Promotion {
    subject.advance_seconds(1);
    subject.tick().await
}

/// Opens a queue with a long line, whose bucket was filled and spent at the lowest load.
async fn open_with_line(subject: &mut Subject, settings: Settings) {
    subject.open(settings).await;
    subject.line_up(1..=300).await;
    report(subject, 0, Some(0), true).await;
    tick_after_a_second(subject).await;
}

pub(crate) async fn the_pace_follows_the_load(mut subject: Subject) {
    open_with_line(&mut subject, adaptive()).await;
    for (tps, batch) in [
        (0, 12),
        (500, 12),
        (750, 7),
        (999, 3),
        (1_000, 2),
        (5_000, 2),
        (500, 12),
    ] {
        report(&subject, tps, None, true).await;
        // The bucket refilled at the batch before, so that no change of the load makes tokens.
        tick_after_a_second(&subject).await;
        let tick = tick_after_a_second(&subject).await;
        assert_eq!(
            (tick.promoted, tick.limited_by),
            (batch, LimitedBy::Pace),
            "{tps}"
        );
        assert_eq!(subject.view().await.pace_in_force().pace.batch, batch, "{tps}");
    }
}

pub(crate) async fn a_lower_load_gives_no_tokens_for_the_time_before(mut subject: Subject) {
    open_with_line(&mut subject, adaptive()).await;
    report(&subject, 2_000, None, true).await;
    tick_after_a_second(&subject).await;
    subject.tick().await;
    report(&subject, 0, None, true).await;
    assert_eq!(subject.tick().await.promoted, 0, "no time has passed");
    subject.advance_ms(500);
    assert_eq!(subject.tick().await.promoted, 6);
}

pub(crate) async fn a_service_that_is_down_gets_no_visitor(mut subject: Subject) {
    open_with_line(&mut subject, adaptive()).await;
    let expect_down = async |subject: &Subject, reason: &str| {
        let tick = subject.tick().await;
        assert_eq!(
            (tick.promoted, tick.limited_by),
            (0, LimitedBy::Service),
            "{reason}"
        );
        let view = subject.view().await;
        assert_eq!(view.limited_by(), Some(LimitedBy::Service), "{reason}");
        assert!(!view.is_moving());
    };
    report(&subject, 0, None, false).await;
    subject.advance_seconds(1);
    expect_down(&subject, "it says so").await;
    report(&subject, 0, None, true).await;
    assert!(tick_after_a_second(&subject).await.promoted > 0);
    subject.advance_ms(8_999);
    assert!(
        subject.tick().await.promoted > 0,
        "the report counts for ten seconds"
    );
    subject.advance_ms(1);
    expect_down(&subject, "it is silent").await;

    // The fast track is shut, too.
    let empty = subject.open_sibling(adaptive()).await;
    assert_eq!(empty.enter(visitor(1)).await.status.state(), EntryState::Waiting);
    report(&empty, 0, None, true).await;
    assert_eq!(empty.tick().await.promoted, 1);
    assert_eq!(empty.enter(visitor(2)).await.status.state(), EntryState::Active);
}

pub(crate) async fn the_latency_may_move_the_pace(mut subject: Subject) {
    let by_latency = Settings {
        load_measure: LoadMeasure::LatencyMs,
        ..adaptive()
    };
    open_with_line(&mut subject, by_latency).await;
    for (latency_ms, batch) in [(Some(750), 7), (Some(100), 12), (None, 2)] {
        report(&subject, 0, latency_ms, true).await;
        tick_after_a_second(&subject).await;
        let tick = tick_after_a_second(&subject).await;
        assert_eq!(tick.promoted, batch, "{latency_ms:?}");
    }
}

pub(crate) async fn a_fixed_pace_ignores_the_load(mut subject: Subject) {
    let fixed = Settings {
        adaptive: false,
        ..adaptive()
    };
    open_with_line(&mut subject, fixed).await;
    report(&subject, 9_999, None, false).await;
    assert_eq!(tick_after_a_second(&subject).await.promoted, 7);
    // Also an adaptive pace in the mode without one.
    subject
        .change_settings(|settings| (settings.adaptive, settings.mode) = (true, Mode::Passthrough))
        .await;
    assert!(tick_after_a_second(&subject).await.promoted > 12);
}

pub(crate) async fn switching_to_an_adaptive_pace_makes_no_tokens(mut subject: Subject) {
    let fixed = Settings {
        adaptive: false,
        ..adaptive()
    };
    open_with_line(&mut subject, fixed).await;
    report(&subject, 0, None, true).await;
    subject.change_settings(|settings| settings.adaptive = true).await;
    assert_eq!(subject.tick().await.promoted, 0);
    assert_eq!(tick_after_a_second(&subject).await.promoted, 12);
    subject
        .change_settings(|settings| settings.adaptive = false)
        .await;
    assert_eq!(subject.tick().await.promoted, 0);
    assert_eq!(tick_after_a_second(&subject).await.promoted, 7);
}
