//! The floor: the delay that any server of this kind has. Its handler holds as many requests and answers them
//! when told to.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Router, extract::State, http::header, response::IntoResponse};
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::Notify,
    task::JoinHandle,
    time::{Instant, sleep},
};
use uuid::Uuid;

use super::{
    SETTLING,
    scene::TIME_LIMIT,
    visitors::{Call, Poller, now_us},
};
use crate::BenchResult;

/// Marks the answers of the floor, in place of the claim deadline of a tick.
const CLAIM_BY_MS: u64 = 1;

pub(crate) struct Floor {
    pub(crate) address: SocketAddr,
    holding: Arc<Holding>,
    serving: JoinHandle<()>,
}

struct Holding {
    held: AtomicUsize,
    release: Notify,
    /// As long as an answer of the API.
    body: String,
}

impl Floor {
    /// The visitor of this number. The floor knows no visitors, but reads as long a request.
    pub(crate) fn poller(number: usize) -> Poller {
        Poller {
            entry_path: format!("/entries/{number}"),
            visitor: Uuid::nil(),
        }
    }

    pub(crate) async fn open() -> BenchResult<Self> {
        let body = json!({
            "queue": "bench:wake", "token": "0f8fad5b-d9cb-869f-a165-70867728950e", "visit": 4_000, "state": "ready",
            "retry_after_ms": 2_000, "joined_at_ms": 1_795_260_581_079_u64, "promoted_at_ms": 1_795_260_581_079_u64,
            "claim_by_ms": CLAIM_BY_MS, "degraded": false,
        });
        let holding = Arc::new(Holding {
            held: AtomicUsize::new(0),
            release: Notify::new(),
            body: body.to_string(),
        });
        let router = Router::new().fallback(hold).with_state(holding.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            // The server runs until it is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            address,
            holding,
            serving,
        })
    }

    /// Waits until this many requests are held.
    pub(crate) async fn wait_until_held(&self, visitor_count: usize) -> BenchResult {
        let end = Instant::now() + TIME_LIMIT;
        while self.holding.held.load(Ordering::Relaxed) < visitor_count {
            if Instant::now() > end {
                return Err("the requests are not held in time".into());
            }
            sleep(SETTLING).await;
        }
        Ok(())
    }

    /// Answers all held requests.
    pub(crate) fn release(&self) -> Call {
        let at_us = now_us();
        self.holding.release.notify_waiters();
        Call {
            claim_by_ms: CLAIM_BY_MS,
            at_us,
        }
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn hold(State(holding): State<Arc<Holding>>) -> impl IntoResponse {
    // The notification counts from when `notified` is called, not from when it is awaited.
    let released = holding.release.notified();
    holding.held.fetch_add(1, Ordering::Relaxed);
    released.await;
    ([(header::CONTENT_TYPE, "application/json")], holding.body.clone())
}
