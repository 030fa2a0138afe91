//! Who is held hears of the turn.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::time::{Instant, sleep};
use vestibule_tests::{edge::BOUND, lines::Backend, waiting::wait_until};

use crate::scene::Scene;

/// Longer than a look a second takes, and shorter than a hold.
const SOON: Duration = Duration::from_secs(8);

/// The message alone does it: no view shows anything new, and the backup has heard nothing yet.
pub(crate) async fn a_message_tells_of_a_turn(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let entries = scene.enter_many(3).await;
    scene.freeze().await;
    let polls: Vec<_> = entries.iter().map(|entry| scene.poll(entry)).collect();
    // They are looked at once after somebody listens: from then on they hear.
    wait_until(BOUND, "it listens", async || {
        scene.switch.looks.load(Ordering::SeqCst) > 0
    })
    .await;
    // Two ticks; whoever stands behind what went is held on.
    for (poll, left) in polls.into_iter().zip([1, 0]) {
        let promotion = scene.promote(1).await;
        let answer = poll.await.expect("it is answered");
        assert_eq!(answer.is(200).text("state"), "ready");
        assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
        let joined_at_ms = answer.number("joined_at_ms");
        assert!(joined_at_ms <= promotion.now_ms && joined_at_ms > promotion.now_ms - 60_000);
        assert_eq!(answer.number("claim_by_ms"), promotion.now_ms + 60_000);
        assert_eq!(promotion.waiting, left + 1);
    }
}

pub(crate) async fn without_a_message_a_look_a_second_does(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    scene.switch.deafen();
    let entry = scene.enter().await;
    let poll = scene.poll(&entry);
    wait_until(BOUND, "it tries to listen", async || {
        scene.switch.listening.passes() > 0
    })
    .await;
    let since = Instant::now();
    let promotion = scene.promote(1).await;
    let answer = poll.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "ready");
    assert_eq!(answer.number("claim_by_ms"), promotion.now_ms + 60_000);
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    assert_eq!(
        scene.switch.looks.load(Ordering::SeqCst),
        1,
        "one question, when its turn came"
    );
}

/// Its message went before anybody listened, and no view shows it: the look after that does.
pub(crate) async fn what_happened_before_anybody_listened_is_seen(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let entry = scene.enter().await;
    scene.freeze().await;
    scene.switch.listening.shut();
    let poll = scene.poll(&entry);
    wait_until(BOUND, "it is about to listen", async || {
        scene.switch.listening.passes() > 0
    })
    .await;
    scene.promote(1).await;
    scene.switch.listening.open();
    let since = Instant::now();
    let answer = poll.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "ready");
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
}

/// The same for one who comes to others who listen already.
pub(crate) async fn what_happened_between_the_look_and_the_hold_is_seen(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let entries = scene.enter_many(2).await;
    scene.freeze().await;
    let behind = scene.poll(&entries[1]);
    wait_until(BOUND, "somebody listens", async || {
        scene.switch.looks.load(Ordering::SeqCst) > 0
    })
    .await;
    let looks = scene.switch.looking.passes();
    scene.switch.looking.shut();
    let poll = scene.poll(&entries[0]);
    wait_until(BOUND, "it was looked at", async || {
        scene.switch.looking.passes() > looks
    })
    .await;
    scene.promote(1).await;
    // The message is heard, and nobody is held whom it concerns.
    sleep(Duration::from_millis(200)).await;
    scene.switch.looking.open();
    let since = Instant::now();
    let answer = poll.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "ready");
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    assert!(!behind.is_finished(), "whoever was not called is held on");
}

/// Where one look has no answer and the line is there, nobody is sent to the backup for it.
pub(crate) async fn one_slow_look_ends_no_hold(backend: Backend) {
    let scene = Scene::open(backend.connect_line(None).await).await;
    let entry = scene.enter().await;
    let poll = scene.poll(&entry);
    let looks = || scene.switch.looks.load(Ordering::SeqCst);
    wait_until(BOUND, "it listens", async || looks() > 0).await;
    scene.switch.stumble();
    let before = looks();
    scene.promote(1).await;
    let answer = poll.await.expect("it is answered");
    assert_eq!(answer.is(200).text("state"), "ready");
    assert_eq!(answer.body["degraded"], false);
    assert!(looks() >= before + 2, "it was looked at again");
}

pub(crate) async fn a_crowd_is_told_without_a_question_for_each(backend: Backend) {
    const CROWD: usize = 600;
    /// All at once, their looks would be too many for a busy machine: that is not what is tried here.
    const ABREAST: usize = 20;
    let scene = Scene::open(backend.connect_line(None).await).await;
    let entries = scene.enter_many(CROWD).await;
    scene.freeze().await;
    let (looking, mut polls) = (&scene.switch.looking, Vec::new());
    for some in entries.chunks(ABREAST) {
        polls.extend(some.iter().map(|entry| scene.poll(entry)));
        wait_until(BOUND, "they are looked at", async || {
            looking.passes() == polls.len() as u64
        })
        .await;
    }
    wait_until(BOUND, "it listens", async || {
        scene.switch.looks.load(Ordering::SeqCst) > 1
    })
    .await;
    // Long enough for the last of them to be looked at: what is counted from now on is what the turn costs.
    sleep(Duration::from_millis(500)).await;
    let (looks, releases) = (&scene.switch.looks, &scene.switch.releases);
    let (looked, released) = (looks.load(Ordering::SeqCst), releases.load(Ordering::SeqCst));
    let promotion = scene.promote(CROWD as u64).await;
    for poll in polls {
        let answer = poll.await.expect("it is answered");
        assert_eq!(answer.is(200).text("state"), "ready", "{answer:?}");
        assert_eq!(answer.number("promoted_at_ms"), promotion.now_ms);
    }
    assert_eq!(looking.passes(), CROWD as u64, "nobody was asked for alone again");
    let looked = looks.load(Ordering::SeqCst) - looked;
    assert!(looked <= 4, "{looked} questions for {CROWD}");
    let released = releases.load(Ordering::SeqCst) - released;
    assert!(released <= looked, "{released} calls to count {CROWD} out");
}
