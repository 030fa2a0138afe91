//! Visitors who keep to the rules, and the protected service that validates and completes each visit.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::http::{HeaderName, HeaderValue};
use vestibule_crowd::{
    act::Act,
    crowd::{Crowd, CrowdClock, Observer},
    http::{HeaderProof, HttpClient, HttpDoor},
    record::{VisitEnd, VisitRecord},
    rules::Refusal,
    stop::StopSignal,
    temper::{Stay, StayEnd, Temper},
    visitor::{Stage, Visitor},
};

use super::{Gateway, admission::Tickets, gateway::SIGNATURE};

/// Idle connections that are kept. Each visitor near the head has one.
const CONNECTIONS: usize = 1_024;
/// The service validates each visitor once, and completes the visit at once.
const STAY: Stay = Stay {
    length_ms: 0.0,
    checks: 1,
    end: StayEnd::Completes,
    extends: false,
};

/// The honest visitors of one queue.
pub(super) struct HonestVisitors {
    crowd: Crowd<HttpDoor, RequestTimes>,
    tickets: Tickets,
}

/// How long requests took that were served, and how many were refused.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestTimes(Arc<Mutex<Times>>);

#[derive(Debug, Default)]
struct Times {
    served_ms: BTreeMap<Act, Vec<f64>>,
    refused: u64,
}

impl HonestVisitors {
    pub(super) fn new(gateway: &Gateway, queue: &str, tickets: Tickets) -> Self {
        let url = gateway.url(&format!("/queues/{queue}"));
        let client = HttpClient::new(CONNECTIONS).expect("the certificates of the machine");
        let signature = HeaderProof(HeaderName::from_static(SIGNATURE), HeaderValue::from_static("1"));
        Self {
            crowd: Crowd {
                door: HttpDoor::new(client, url.clone()).with_service(url, signature),
                ledger: Arc::default(),
                observer: RequestTimes::default(),
                stop: StopSignal::never(),
                clock: CrowdClock::start(),
                keeps_estimates: false,
                limit: None,
            },
            tickets,
        }
    }

    /// Enters as a new visitor.
    pub(super) async fn arrive(&self) -> Visitor {
        let temper = Temper {
            stay: STAY,
            ..Temper::honest(0.0)
        };
        let caller = self.tickets.honest_caller();
        let mut visitor = self.crowd.arrive(caller, temper, rand::random());
        while visitor.stage() == Stage::Entering {
            self.crowd.step(&mut visitor).await;
        }
        let end = &visitor.record.end;
        assert!(
            !matches!(end, Some(VisitEnd::Refused(_))),
            "an honest visitor was refused: {end:?}"
        );
        visitor
    }

    /// Waits for the turn, claims it, and lets the protected service validate and complete the visit.
    pub(super) async fn go_through(&self, mut visitor: Visitor) -> VisitRecord {
        self.crowd.follow(&mut visitor).await;
        visitor.record
    }

    pub(super) fn times(&self) -> RequestTimes {
        self.crowd.observer.clone()
    }
}

impl RequestTimes {
    /// The times of the served requests of which `time` is told, sorted, in milliseconds.
    pub(super) fn sorted_ms(&self, time: impl Fn(Act, f64) -> Option<f64>) -> Vec<f64> {
        let times = self.0.lock().expect("no visitor panics with the lock");
        let served = times.served_ms.iter();
        let mut told: Vec<_> = served
            .flat_map(|(act, served_ms)| served_ms.iter().filter_map(|ms| time(*act, *ms)))
            .collect();
        told.sort_by(f64::total_cmp);
        told
    }

    /// Requests that were answered with 429, or by a server that is overloaded.
    pub(super) fn refused(&self) -> u64 {
        self.0.lock().expect("no visitor panics with the lock").refused
    }
}

impl Observer for RequestTimes {
    fn record_request(&self, act: Act, latency: Duration, refusal: Option<&Refusal>) {
        let mut times = self.0.lock().expect("no visitor panics with the lock");
        match refusal.map(|refusal| refusal.status) {
            None => {
                let served_ms = times.served_ms.entry(act).or_default();
                served_ms.push(latency.as_secs_f64() * 1_000.0);
            }
            Some(429 | 502..=504) => times.refused += 1,
            Some(_) => {}
        }
    }
}
