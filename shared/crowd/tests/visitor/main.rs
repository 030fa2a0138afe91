//! One visitor, in paused time, through a door that keeps to a script: each conduct in line, the stay, and every way out.

mod crowds;
mod devices;
mod door;
mod in_line;
mod stays;

use std::sync::Arc;

use vestibule_crowd::{
    crowd::{Crowd, Unobserved},
    door::Caller,
    record::VisitRecord,
    rules::Chance,
    temper::{Conduct, StayEnd, Temper},
    visitor::Visitor,
};

use self::door::{Script, ScriptedDoor};

/// A stay in milliseconds.
const STAY_MS: f64 = 20_000.0;

/// What a visit came to.
struct Visited {
    record: VisitRecord,
    visitor: Visitor,
    crowd: Arc<Crowd<ScriptedDoor>>,
}

impl Visited {
    fn door(&self) -> &ScriptedDoor {
        &self.crowd.door
    }

    /// A time of this machine, in milliseconds from the arrival.
    fn after_ms(&self, unix_ms: f64) -> f64 {
        unix_ms - self.record.arrived_at_ms
    }
}

fn crowd(script: Script) -> Arc<Crowd<ScriptedDoor, Unobserved>> {
    Arc::new(Crowd::new(ScriptedDoor::new(script)))
}

/// Sends a visitor through, until the visit has ended or the visitor is silent.
async fn visit(temper: Temper, script: Script) -> Visited {
    let crowd = crowd(script);
    let mut visitor = crowd.arrive(Caller::anonymous(), temper, 1);
    // A visit whose random numbers are known can be compared with another one.
    visitor.follower = vestibule_crowd::rules::Follower::new(
        visitor.temper().client,
        Chance::Fixed(0.5),
        visitor.follower.entry_at_ms(),
    );
    crowd.follow(&mut visitor).await;
    Visited {
        record: visitor.record.clone(),
        visitor,
        crowd,
    }
}

fn honest() -> Temper {
    Temper::honest(STAY_MS)
}

fn with_conduct(conduct: Conduct) -> Temper {
    Temper { conduct, ..honest() }
}

fn with_stay_end(end: StayEnd) -> Temper {
    let mut temper = honest();
    temper.stay.end = end;
    temper
}

/// Whether two times are the same within two milliseconds, to which paused time is exact.
#[track_caller]
fn assert_near(one_ms: f64, other_ms: f64) {
    assert!((one_ms - other_ms).abs() < 2.5, "{one_ms} and {other_ms}");
}
