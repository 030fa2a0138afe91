//! A crowd that is stopped, and its silent visitors.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;
use vestibule_crowd::{
    crowd::{Crowd, PlannedVisit},
    door::Caller,
    record::{VisitEnd, VisitRecord},
    stop::{StopReason, Stopper},
    temper::{Conduct, StayEnd, Temper},
};

use crate::{
    door::{Script, ScriptedDoor, unavailable},
    honest, with_conduct, with_stay_end,
};

fn planned(temper: Temper, arrives_after_s: u64) -> PlannedVisit {
    PlannedVisit {
        arrives_after: Duration::from_secs(arrives_after_s),
        caller: Caller::anonymous(),
        temper,
        seed: 1,
    }
}

/// Sends one visitor, and stops the crowd after so many seconds.
async fn stop_after(seconds: u64, temper: Temper, script: Script) -> (VisitRecord, Arc<Crowd<ScriptedDoor>>) {
    let (stopper, stop) = Stopper::new();
    let mut crowd = Crowd::new(ScriptedDoor::new(script));
    crowd.stop = stop;
    let crowd = Arc::new(crowd);
    let stopping = async {
        sleep(Duration::from_secs(seconds)).await;
        stopper.stop(StopReason::Interrupted);
    };
    let (outcome, ()) = tokio::join!(crowd.send([planned(temper, 0)]), stopping);
    let mut records = outcome.records;
    assert_eq!((records.len(), outcome.faults), (1, 0));
    (records.remove(0), crowd)
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_each_visit_where_it_is() {
    for (seconds, temper, end, request) in [
        (6, honest(), VisitEnd::LeftLine, "leave"),
        (20, honest(), VisitEnd::Completed, "complete"),
        (20, with_stay_end(StayEnd::Leaves), VisitEnd::LeftSlot, "leave"),
        (20, with_conduct(Conduct::NoShow), VisitEnd::LeftSlot, "leave"),
    ] {
        let (record, crowd) = stop_after(seconds, temper, Script::default()).await;
        assert_eq!(record.end, Some(end));
        let last = crowd.door.requests().last().copied().expect("a request");
        // A poll under way is awaited.
        assert!(
            last.1 == request && (seconds * 1_000..=seconds * 1_000 + 5_000).contains(&last.0),
            "{last:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_finds_a_visitor_without_a_place() {
    let script = Script {
        refuse: |name, _| (name == "enter").then(unavailable),
        ..Script::default()
    };
    let (record, crowd) = stop_after(20, honest(), script).await;
    assert_eq!(record.end, Some(VisitEnd::NoPlace));
    assert!(crowd.door.requests().iter().all(|(_, name)| *name == "enter"));
}

#[tokio::test(start_paused = true)]
async fn requests_that_end_visits_are_repeated_after_a_stop() {
    let script = Script {
        refuse: |name, number| (name == "leave" && number < 2).then(unavailable),
        ..Script::default()
    };
    let (record, crowd) = stop_after(1, honest(), script).await;
    assert_eq!(record.end, Some(VisitEnd::LeftLine));
    assert_eq!(crowd.door.times_of("leave"), [1_000, 2_000, 4_000]);
}

#[tokio::test(start_paused = true)]
async fn no_visitor_arrives_after_a_stop() {
    let (stopper, stop) = Stopper::new();
    let mut crowd = Crowd::new(ScriptedDoor::new(Script::default()));
    crowd.stop = stop;
    let crowd = Arc::new(crowd);
    let stopping = async {
        sleep(Duration::from_secs(5)).await;
        stopper.stop(StopReason::OutOfTime);
    };
    let visits = [planned(honest(), 0), planned(honest(), 60)];
    let (outcome, ()) = tokio::join!(crowd.send(visits), stopping);
    assert_eq!(outcome.records.len(), 1);
    assert_eq!(crowd.stop.reason(), Some(StopReason::OutOfTime));
}

#[tokio::test(start_paused = true)]
async fn silent_visitors_are_taken_out_when_all_others_are_done() {
    let crowd = Arc::new(Crowd::new(ScriptedDoor::new(Script::default())));
    let outcome = crowd.send([planned(with_conduct(Conduct::Fake), 0)]).await;
    assert_eq!(outcome.records[0].end, Some(VisitEnd::LeftLine));
    let names: Vec<_> = crowd.door.requests().iter().map(|request| request.1).collect();
    assert_eq!(names, ["enter", "poll", "leave"]);
    let figures = crowd.ledger.figures();
    assert!(figures.iter().any(|figures| figures.act.name() == "look"));
}
