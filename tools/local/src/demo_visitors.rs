//! Simulated visitors for the demo queue, so that a new user sees a line. Each visitor sends requests through
//! the real routes within this process.

mod door;

use std::{sync::Arc, time::Duration};

use axum::Router;
use rand::RngExt;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use uuid::{Builder, Uuid};
use vestibule_crowd::{
    crowd::Crowd,
    door::Caller,
    temper::{Conduct, Stay, StayEnd, Temper},
};

use self::door::RoutesDoor;
use crate::stop::Stop;

/// The queue of the demo visitors.
pub(crate) const QUEUE: &str = "demo:1";

/// One in this many visitors does not claim the turn, and one in this many active visitors does not complete
/// the visit.
const NO_SHOW_ONE_IN: u32 = 10;

/// The settings of the demo queue. The line moves every two seconds.
pub(crate) fn settings() -> Value {
    json!({
        "capacity": 3,
        "batch": 1,
        "interval_seconds": 2,
        "claim_seconds": 10,
        "session_seconds": 30,
        "message": "This is a demonstration. The other visitors are simulated.",
    })
}

/// Runs this many demo visitors until the process stops.
pub(crate) async fn run_demo_visitors(router: Router, count: u16, stop: Stop) {
    let crowd = Arc::new(Crowd::new(RoutesDoor { router, queue: QUEUE }));
    let mut visitors = JoinSet::new();
    for number in 0..count {
        visitors.spawn(repeat_visits(
            crowd.clone(),
            Caller::with_id(visitor_id(number).to_string()),
        ));
    }
    stop.wait().await;
    // Each of them keeps the place, as a visitor does whose device is switched off.
    visitors.shutdown().await;
}

/// The id of a demo visitor. It is the same after a restart, so the visitor keeps the place.
fn visitor_id(number: u16) -> Uuid {
    let mut bytes = *b"vestibule crowd.";
    bytes[14..].copy_from_slice(&number.to_be_bytes());
    Builder::from_random_bytes(bytes).into_uuid()
}

async fn repeat_visits(crowd: Arc<Crowd<RoutesDoor>>, caller: Caller) {
    loop {
        sleep(random_ms(200, 3_000)).await;
        let mut visitor = crowd.arrive(caller.clone(), draw_temper(), rand::random());
        crowd.follow(&mut visitor).await;
        sleep(random_ms(1_000, 8_000)).await;
    }
}

fn draw_temper() -> Temper {
    Temper {
        conduct: if is_one_in(NO_SHOW_ONE_IN) {
            Conduct::NoShow
        } else {
            Conduct::Honest
        },
        stay: Stay {
            length_ms: random_ms(3_000, 7_000).as_secs_f64() * 1_000.0,
            checks: 0,
            end: if is_one_in(NO_SHOW_ONE_IN) {
                StayEnd::Expires
            } else {
                StayEnd::Completes
            },
            extends: false,
        },
        ..Temper::honest(0.0)
    }
}

fn random_ms(min_ms: u64, max_ms: u64) -> Duration {
    Duration::from_millis(rand::rng().random_range(min_ms..=max_ms))
}

fn is_one_in(count: u32) -> bool {
    rand::rng().random_ratio(1, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_gives_the_same_visitor_id() {
        assert_eq!(visitor_id(3), visitor_id(3));
        assert_ne!(visitor_id(3), visitor_id(4));
        assert_eq!(visitor_id(3).get_version_num(), 4);
    }
}
