//! How many entries are promoted, and when.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vestibule_domain::{pace::LimitedBy, settings::Settings, state::EntryState};
use vestibule_line::{LeaveReason, PromoteOrder};
use vestibule_tests::lines::{Subject, tick_order, visitor};

use crate::settings::{in_turn, with_pace};

pub(crate) async fn the_fast_track_spends_tokens_of_the_same_bucket(mut subject: Subject) {
    const BATCH: u64 = 5;
    const INTERVAL_MS: u64 = 10_000;
    subject.open(with_pace(5, 10)).await;
    let (start_ms, mut rng) = (subject.clock.now_ms(), StdRng::seed_from_u64(3));
    let mut let_in = 0;
    for number in 1..=1_000 {
        // The arrivals come at the same moment, close together, and once in a while after a long quiet time.
        subject.advance_ms(match number % 100 {
            0 => 60_000,
            n if n < 20 => 0,
            _ => rng.random_range(1..2_000),
        });
        let place = subject.enter(visitor(number)).await;
        let_in += u64::from(place.status.state() == EntryState::Active);
        if place.status.state() == EntryState::Waiting {
            // Sometimes a promoter ticks later. After that the waiting visitor leaves, so that the queue is
            // empty again.
            if number % 3 == 0 {
                subject.advance_ms(rng.random_range(0..4_000));
                let_in += subject.tick().await.promoted;
            }
            subject.leave(visitor(number), LeaveReason::Leave).await;
        }
        let elapsed_ms = subject.clock.now_ms() - start_ms;
        assert!(
            let_in <= BATCH + elapsed_ms * BATCH / INTERVAL_MS,
            "{let_in} entries were let in after {elapsed_ms} ms"
        );
    }
    let view = subject.view().await;
    assert!(
        view.totals.fast_tracked > 50 && view.totals.promoted > 20,
        "the fast track and promotion were both used"
    );
    assert_eq!(view.totals.fast_tracked + view.totals.promoted, let_in);
}

pub(crate) async fn a_promoter_that_was_down_promotes_one_batch(mut subject: Subject) {
    subject.open(with_pace(3, 10)).await;
    subject.line_up(1..=30).await;
    assert_eq!(subject.tick().await.promoted, 3);
    subject.advance_seconds(100);
    let back = subject.tick().await;
    assert_eq!((back.promoted, back.limited_by), (3, LimitedBy::Pace));
    assert_eq!(subject.tick().await.promoted, 0);
    // From then on the batch is spread over the interval.
    subject.advance_ms(3_333);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_ms(1);
    assert_eq!(subject.tick().await.promoted, 1);
}

pub(crate) async fn capacity_is_never_exceeded(mut subject: Subject) {
    const CAPACITY: u64 = 7;
    subject
        .open(Settings {
            capacity: 7,
            claim_seconds: 10,
            session_seconds: 20,
            ..with_pace(50, 1)
        })
        .await;
    let mut rng = StdRng::seed_from_u64(4);
    let mut full = 0;
    for _ in 0..400 {
        let id = visitor(rng.random_range(1..=30));
        match rng.random_range(0..8) {
            0..3 => {
                subject.enter(id).await;
            }
            3 => {
                subject.line.claim(&subject.queue, id).await.expect("claim");
            }
            4 => {
                let departed = subject.line.leave(&subject.queue, id, None, LeaveReason::Leave);
                departed.await.expect("leave");
            }
            5 => subject.advance_ms(rng.random_range(0..4_000)),
            _ => {
                let tick = subject.tick().await;
                assert!(tick.ready + tick.active <= CAPACITY, "{tick:?}");
                full += u64::from(tick.limited_by == LimitedBy::Capacity);
            }
        }
        let view = subject.view().await;
        assert!(view.ready + view.active <= CAPACITY, "{view:?}");
    }
    assert!(full > 10, "the queue was full {full} times");

    // If the capacity drops below the number of taken slots, no entry is removed and none is promoted.
    subject.line_up(31..=60).await;
    subject.advance_seconds(60);
    subject.tick().await;
    let before = subject.tick().await;
    assert_eq!(before.ready, CAPACITY);
    subject.change_settings(|settings| settings.capacity = 3).await;
    subject.advance_seconds(2);
    let tick = subject.tick().await;
    assert_eq!(
        (tick.promoted, tick.ready, tick.limited_by),
        (0, CAPACITY, LimitedBy::Capacity)
    );
}

pub(crate) async fn a_changed_pace_keeps_the_tokens(mut subject: Subject) {
    subject.open(in_turn(with_pace(10, 10))).await;
    subject.line_up(1..=100).await;
    let order = |asked| PromoteOrder {
        is_promoter: false,
        ..tick_order(asked)
    };
    let four = subject
        .line
        .promote(&subject.queue, order(4))
        .await
        .expect("promote");
    assert_eq!((four.promoted, four.limited_by), (4, LimitedBy::Requested));
    // Six tokens are left. A new interval does not change their number.
    subject
        .change_settings(|settings| settings.interval_seconds = 60)
        .await;
    assert_eq!(subject.tick().await.promoted, 6);
    subject.advance_seconds(59);
    assert_eq!(subject.tick().await.promoted, 9, "9.8 tokens were earned");
    // A smaller batch cuts the number of tokens. A larger one adds none at once.
    subject
        .change_settings(|settings| (settings.batch, settings.interval_seconds) = (20, 1))
        .await;
    subject.advance_seconds(10);
    subject.change_settings(|settings| settings.batch = 2).await;
    assert_eq!(subject.tick().await.promoted, 2);
    subject.change_settings(|settings| settings.batch = 30).await;
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_ms(500);
    assert_eq!(subject.tick().await.promoted, 15);
}
