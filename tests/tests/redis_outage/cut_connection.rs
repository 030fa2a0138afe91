//! The connection is cut after Redis carried out a command, and before its answer came. The caller gets an answer all the same,
//! unless a second run would be another command.

use std::fmt::Debug;

use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    state::EntryState,
};
use vestibule_line::{
    Arrival, ClaimOutcome, EnterOutcome, EntryLookup, ExtendOutcome, LeaveOutcome, LeaveReason, Line,
    LineError, NotFound, SessionExtension, ValidateOutcome, Validation,
};
use vestibule_tests::{
    entries::fresh_id,
    in_process::BOUND,
    lines::tick_order,
    network::{Network, NetworkState},
    waiting::poll_until,
};

use crate::{process::create, server::Server};

const USE_ID: &str = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

/// A line behind a network that loses answers.
struct Scene {
    server: Server,
    network: Network,
    line: Line,
    queue: QueueId,
}

impl Scene {
    async fn open() -> Self {
        let server = Server::start(false);
        let queue = create(&server.url()).await;
        let network = Network::open_before(server.address()).await;
        let line = Line::connect_lazily(&format!("redis://{}", network.address), None).expect("an address");
        Self {
            server,
            network,
            line,
            queue,
        }
    }

    /// Makes a call whose first answer is lost. Returns the outcome, and how often Redis ran a script for it.
    async fn lose_answer<T>(
        &self,
        call: impl AsyncFn() -> Result<T, LineError>,
    ) -> (Result<T, LineError>, u64) {
        // The connection is open, and was used a moment ago.
        let ready = async || self.line.queue_view(&self.queue).await.is_ok();
        poll_until(BOUND, ready, |is_ready| *is_ready).await;
        let before = self.count_scripts().await;
        self.network.set_state(NetworkState::CutAtAnswer);
        let outcome = call().await;
        (outcome, self.count_scripts().await - before)
    }

    /// Makes a call whose first answer is lost, and requires the answer that the caller needs.
    async fn repeat<T: Debug>(
        &self,
        name: &str,
        call: impl AsyncFn() -> Result<T, LineError>,
        is_good: impl Fn(&T) -> bool,
    ) {
        let (outcome, _) = self.lose_answer(call).await;
        assert!(outcome.as_ref().is_ok_and(is_good), "{name}: {outcome:?}");
    }

    async fn count_scripts(&self) -> u64 {
        let mut connection = self.server.connect().await;
        let mut info = redis::cmd("INFO");
        let info: String = info
            .arg("commandstats")
            .query_async(&mut connection)
            .await
            .expect("an answer");
        let calls = info
            .lines()
            .find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        let calls = calls.and_then(|calls| calls.split(',').next()?.parse().ok());
        calls.expect("the number of calls")
    }

    async fn state(&self, id: EntryId) -> Option<EntryState> {
        match self.line.status(&self.queue, id).await {
            Ok(EntryLookup::Found(status)) => Some(status.state()),
            Ok(EntryLookup::NotFound(_)) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

fn validation(consumes: bool, use_id: Option<&str>) -> Validation {
    Validation {
        visit: None,
        claims: false,
        consumes,
        use_id: use_id.map(|id| id.parse().expect("a UUID")),
        reactivate_until_ms: None,
    }
}

#[tokio::test]
async fn a_cut_connection_costs_no_visitor_an_answer() {
    let scene = Scene::open().await;
    let (line, queue) = (&scene.line, &scene.queue);
    let [active, waiting] = [fresh_id(), fresh_id()];
    let enter = async |id| line.enter(queue, id, Arrival::Ordinary).await;
    let validate = async |id, validation| line.validate(queue, id, validation).await;
    scene
        .repeat("enter", async || enter(active).await, is_joined)
        .await;
    assert_eq!(scene.state(active).await, Some(EntryState::Active));
    scene
        .repeat("enter behind", async || enter(waiting).await, is_joined)
        .await;
    let check_in = async || line.check_in(queue, waiting).await;
    scene
        .repeat("check in", check_in, |seen| {
            matches!(seen.lookup, EntryLookup::Found(_))
        })
        .await;
    let status = async || line.status(queue, waiting).await;
    scene
        .repeat("status", status, |found| {
            matches!(
                found,
                EntryLookup::Found(EntryStatus::Waiting { position: 1, .. })
            )
        })
        .await;
    let look = async || validate(active, validation(false, None)).await;
    scene.repeat("validate", look, is_active).await;
    let extend = async || {
        let extension = SessionExtension {
            visit: None,
            seconds: 60,
            latest_end_ms: u64::MAX >> 12,
        };
        line.extend(queue, active, extension).await
    };
    scene
        .repeat("extend", extend, |extended| {
            matches!(extended, ExtendOutcome::Active { .. })
        })
        .await;
    let consume = async || validate(active, validation(true, Some(USE_ID))).await;
    scene
        .repeat("consume under an id", consume, |consumed| {
            let end = match consumed {
                ValidateOutcome::Active { change, .. } => *change,
                ValidateOutcome::NotFound(NotFound::Ended(end)) => Some(*end),
                _ => None,
            };
            end.and_then(|end| end.consumed_visit()).is_some()
        })
        .await;
    let tick = async || {
        let seen = line.check_in(queue, waiting).await.expect("an answer");
        line.promote(queue, tick_order(1)).await.expect("a tick");
        seen.lookup
    };
    let is_ready = |seen: &EntryLookup| matches!(seen, EntryLookup::Found(EntryStatus::Ready { .. }));
    poll_until(BOUND, tick, is_ready).await;
    let claim = async || line.claim(queue, waiting).await;
    scene
        .repeat("claim", claim, |claimed| {
            matches!(claimed, ClaimOutcome::Active { .. })
        })
        .await;
    let Ok(EntryLookup::Found(status)) = line.status(queue, waiting).await else {
        panic!("the entry is active");
    };
    let leave = async || {
        line.leave(queue, waiting, Some(status.visit()), LeaveReason::Leave)
            .await
    };
    scene
        .repeat("leave a visit", leave, |left| {
            matches!(
                left,
                LeaveOutcome::Ended(_) | LeaveOutcome::NotFound(NotFound::Ended(_))
            )
        })
        .await;
}

#[tokio::test]
async fn a_command_that_would_be_another_one_runs_once() {
    let scene = Scene::open().await;
    let (line, queue) = (&scene.line, &scene.queue);
    let id = fresh_id();
    line.enter(queue, id, Arrival::Ordinary).await.expect("entered");
    // The script is loaded.
    let look = line.validate(queue, id, validation(false, None)).await;
    assert!(look.is_ok_and(|look| is_active(&look)));
    let consume = async || line.validate(queue, id, validation(true, None)).await;
    let (consumed, runs) = scene.lose_answer(consume).await;
    assert!(matches!(consumed, Err(LineError::Unavailable(_))), "{consumed:?}");
    assert_eq!(runs, 1);
    let left = line.leave(queue, fresh_id(), None, LeaveReason::Leave).await;
    assert!(matches!(left, Ok(LeaveOutcome::NotFound(_))), "{left:?}");
    let leave = async || line.leave(queue, id, None, LeaveReason::Leave).await;
    let (left, runs) = scene.lose_answer(leave).await;
    assert!(matches!(left, Err(LineError::Unavailable(_))), "{left:?}");
    assert_eq!(runs, 1);
}

fn is_joined(entered: &EnterOutcome) -> bool {
    matches!(entered, EnterOutcome::Joined { .. })
}

fn is_active(validated: &ValidateOutcome) -> bool {
    matches!(validated, ValidateOutcome::Active { .. })
}
