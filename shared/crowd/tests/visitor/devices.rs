//! What is between a visitor and the queue: the network, several tabs, and a clock that is wrong.

use vestibule_crowd::{
    crowd::PlannedVisit,
    door::Caller,
    record::VisitEnd,
    temper::{DeviceClock, Temper},
};

use crate::{crowd, door::Script, honest, visit};

#[tokio::test(start_paused = true)]
async fn a_device_without_network_reaches_nobody() {
    let offline = Temper {
        offline_ms: Some(1_000.0..14_000.0),
        ..honest()
    };
    let visited = visit(offline, Script::default()).await;
    let requests = visited.door().requests();
    assert!(
        requests.iter().all(|(at_ms, _)| !(1_000..14_000).contains(at_ms)),
        "{requests:?}"
    );
    // The client asks within a second of the network.
    assert!(
        requests
            .iter()
            .any(|(at_ms, _)| (14_000..=15_000).contains(at_ms)),
        "{requests:?}"
    );
    assert!(visited.record.failures > 0);
    assert_eq!(visited.record.end, Some(VisitEnd::Completed));
}

#[tokio::test(start_paused = true)]
async fn tabs_of_a_visitor_share_the_place() {
    let crowd = crowd(Script::default());
    let visit = PlannedVisit {
        arrives_after: std::time::Duration::ZERO,
        caller: Caller::anonymous(),
        temper: Temper { tabs: 3, ..honest() },
        seed: 1,
    };
    let records = crowd.send([visit]).await.records;
    assert_eq!(records.len(), 3);
    assert!(
        records
            .iter()
            .all(|record| record.end == Some(VisitEnd::Completed) && record.visits == [1]),
        "{records:?}"
    );
}

fn with_clock(offset_ms: f64, rate: f64) -> Temper {
    Temper {
        clock: DeviceClock { offset_ms, rate },
        ..honest()
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_a_day_off_changes_nothing() {
    let script = Script {
        session_ms: 8_000,
        ..Script::default()
    };
    let right = visit(honest(), script).await;
    for offset_ms in [86_400_000.0, -86_400_000.0] {
        let wrong = visit(with_clock(offset_ms, 1.0), script).await;
        let (one, other) = (right.door().requests(), wrong.door().requests());
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            assert!(
                one.1 == other.1 && one.0.abs_diff(other.0) <= 1,
                "{one:?} {other:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_runs_fast_or_slow_costs_no_turn() {
    for rate in [1.01, 0.99] {
        let visited = visit(with_clock(0.0, rate), Script::default()).await;
        assert_eq!(visited.record.end, Some(VisitEnd::Completed), "{rate}");
        let claims = visited.door().times_of("claim");
        assert!(claims[0].abs_diff(10_000) < 100, "{claims:?}");
        let completed = visited.door().times_of("complete");
        assert!(completed[0].abs_diff(30_000) < 100, "{completed:?}");
    }
}
