//! Which message or lookup tells a held poll of the turn.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use vestibule_faults::Fault;
use vestibule_tests::{in_process::BOUND, lines::Backend, waiting::wait_until};

use crate::scene::Scene;

/// Longer than the fallback lookup of each second takes, and shorter than a hold.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(8);

/// The message alone tells of the turn: no view shows it, and the backup does not have it yet.
pub(crate) async fn a_tick_message_answers_the_polls_it_promotes(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let visitors = scene.enter_many(3).await;
    scene.freeze().await;
    let polls: Vec<_> = visitors.iter().map(|visitor| scene.poll(visitor)).collect();
    // The process looks the polls up once after it subscribes. From then on messages reach them.
    wait_until(BOUND, "the process is subscribed", async || {
        scene.faults.finished_calls("status_many") > 0
    })
    .await;
    // There are two ticks. A poll of an entry behind the first tick stays held.
    for (poll, left) in polls.into_iter().zip([1, 0]) {
        let promotion = scene.promote(1).await;
        let answer = poll.await.expect("the poll is answered");
        assert_eq!(answer.expect_status(200).text("state"), "ready");
        assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
        let joined_at_ms = answer.number("joined_at_ms");
        assert!(joined_at_ms <= promotion.now_ms && joined_at_ms > promotion.now_ms - 60_000);
        assert_eq!(answer.number("claim_by_ms"), promotion.now_ms + 60_000);
        assert_eq!(promotion.waiting, left + 1);
    }
}

pub(crate) async fn without_messages_a_lookup_each_second_answers_polls(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    scene.faults.fail("subscribe", Fault::Unavailable);
    let visitor = scene.enter().await;
    let poll = scene.poll(&visitor);
    wait_until(BOUND, "the process tries to subscribe", async || {
        scene.faults.calls("subscribe") > 0
    })
    .await;
    let since = Instant::now();
    let promotion = scene.promote(1).await;
    let answer = poll.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "ready");
    assert_eq!(answer.number("claim_by_ms"), promotion.now_ms + 60_000);
    assert!(since.elapsed() < ANSWER_TIME_MAX, "{:?}", since.elapsed());
    assert_eq!(
        scene.faults.calls("status_many"),
        1,
        "one lookup, when the turn came"
    );
}

/// The message was sent before the process subscribed, and no view shows the turn. The lookup after the
/// subscription finds it.
pub(crate) async fn a_turn_before_the_subscription_is_found(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let visitor = scene.enter().await;
    scene.freeze().await;
    let subscribe_gate = scene.faults.gate_before("subscribe");
    subscribe_gate.shut();
    let poll = scene.poll(&visitor);
    wait_until(BOUND, "the process is about to subscribe", async || {
        subscribe_gate.arrivals() > 0
    })
    .await;
    scene.promote(1).await;
    subscribe_gate.open();
    let since = Instant::now();
    let answer = poll.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "ready");
    assert!(since.elapsed() < ANSWER_TIME_MAX, "{:?}", since.elapsed());
}

/// The same for a poll that joins polls whose process is already subscribed.
pub(crate) async fn a_turn_between_the_lookup_and_the_hold_is_found(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let visitors = scene.enter_many(2).await;
    scene.freeze().await;
    let other_poll = scene.poll(&visitors[1]);
    wait_until(BOUND, "the process is subscribed", async || {
        scene.faults.calls("status_many") > 0
    })
    .await;
    let lookup_gate = scene.faults.gate_after("check_in");
    let before = lookup_gate.arrivals();
    lookup_gate.shut();
    let poll = scene.poll(&visitors[0]);
    wait_until(BOUND, "the poll was looked up", async || {
        lookup_gate.arrivals() > before
    })
    .await;
    scene.promote(1).await;
    // The process receives the message while no poll of that entry is held.
    sleep(Duration::from_millis(200)).await;
    lookup_gate.open();
    let since = Instant::now();
    let answer = poll.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "ready");
    assert!(since.elapsed() < ANSWER_TIME_MAX, "{:?}", since.elapsed());
    assert!(
        !other_poll.is_finished(),
        "the poll of the entry that was not promoted stays held"
    );
}

/// If one lookup fails while the line is available, no poll is answered from the backup.
pub(crate) async fn one_failed_lookup_does_not_end_a_hold(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let visitor = scene.enter().await;
    let poll = scene.poll(&visitor);
    let lookups = || scene.faults.calls("status_many");
    wait_until(BOUND, "the process is subscribed", async || lookups() > 0).await;
    // A lookup that comes between these two lines is counted, whether or not it is the one that fails.
    let before = lookups();
    scene.faults.fail_once("status_many");
    scene.promote(1).await;
    let answer = poll.await.expect("the poll is answered");
    assert_eq!(answer.expect_status(200).text("state"), "ready");
    assert_eq!(answer.body["degraded"], false);
    assert!(lookups() >= before + 2, "the process looked the entry up again");
}

pub(crate) async fn many_polls_are_answered_with_few_lookups(backend: Backend) {
    const CROWD: usize = 600;
    /// Sent all at once, the first lookups would be too many for a busy machine. This case does not test that.
    const POLLS_AT_ONCE: usize = 20;
    let scene = Scene::open(backend.connect_line(None).await).await;
    let visitors = scene.enter_many(CROWD).await;
    scene.freeze().await;
    let (lookup_gate, mut polls) = (scene.faults.gate_after("check_in"), Vec::new());
    for some in visitors.chunks(POLLS_AT_ONCE) {
        polls.extend(some.iter().map(|visitor| scene.poll(visitor)));
        wait_until(BOUND, "the polls are looked up", async || {
            lookup_gate.arrivals() == polls.len() as u64
        })
        .await;
    }
    wait_until(BOUND, "the process is subscribed", async || {
        scene.faults.calls("status_many") > 1
    })
    .await;
    // Waits until the last poll is looked up. From now on the counters show the cost of the turn alone.
    sleep(Duration::from_millis(500)).await;
    let lookups = || scene.faults.calls("status_many");
    let releases = || scene.faults.calls("release_holds");
    let (lookups_before, releases_before) = (lookups(), releases());
    let promotion = scene.promote(CROWD as u64).await;
    for poll in polls {
        let answer = poll.await.expect("the poll is answered");
        assert_eq!(answer.expect_status(200).text("state"), "ready", "{answer:?}");
        assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
    }
    assert_eq!(
        lookup_gate.arrivals(),
        CROWD as u64,
        "no entry was looked up alone again"
    );
    let lookups = lookups() - lookups_before;
    assert!(lookups <= 4, "{lookups} lookups for {CROWD} polls");
    let releases = releases() - releases_before;
    assert!(releases <= lookups, "{releases} calls to release {CROWD} polls");
}
