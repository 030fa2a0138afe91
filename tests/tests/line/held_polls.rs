//! The count of held polls of a whole deployment.

use std::time::Duration;

use futures_util::future::join_all;
use uuid::Uuid;
use vestibule_domain::{id::EntryId, poll_pacing::HOLD_LEASE_MAX_MS};
use vestibule_line::{HoldOrder, HoldOutcome};
use vestibule_tests::lines::{Subject, visitor};

const LEASE_MS: u64 = 10_000;

/// A deployment id that no other test uses.
fn fresh_deployment() -> String {
    format!("test-{}", Uuid::new_v4())
}

async fn take_hold(subject: &Subject, deployment: &str, number: u64, below: u64) -> HoldOutcome {
    take_hold_within(subject, deployment, number, (below, None)).await
}

/// The limits are those of all polls, and of polls in lines of unknown speed.
async fn take_hold_within(
    subject: &Subject,
    deployment: &str,
    number: u64,
    (below, unknown_speed_below): (u64, Option<u64>),
) -> HoldOutcome {
    let order = HoldOrder {
        deployment,
        id: visitor(number),
        below,
        unknown_speed_below,
        lease_ms: LEASE_MS,
    };
    subject.line.take_hold(&order).await.expect("take_hold")
}

async fn release_holds(subject: &Subject, deployment: &str, numbers: impl IntoIterator<Item = u64>) {
    let ids: Vec<EntryId> = numbers.into_iter().map(visitor).collect();
    subject
        .line
        .release_holds(deployment, &ids)
        .await
        .expect("release_holds");
}

/// The counts that the accepted polls were told, in ascending order.
fn held_counts(outcomes: impl IntoIterator<Item = HoldOutcome>) -> Vec<u64> {
    let mut held: Vec<_> = outcomes
        .into_iter()
        .filter_map(|outcome| match outcome {
            HoldOutcome::Counted { held } => Some(held),
            HoldOutcome::Full => None,
            HoldOutcome::AlreadyHeld => panic!("each poll is of another entry"),
        })
        .collect();
    held.sort_unstable();
    held
}

pub(crate) async fn held_polls_never_exceed_the_limit(subject: Subject) {
    let deployment = fresh_deployment();
    let take_holds = async |numbers: std::ops::RangeInclusive<u64>| {
        let asked = numbers.map(|number| take_hold(&subject, &deployment, number, 20));
        held_counts(join_all(asked).await)
    };
    assert_eq!(take_holds(1..=200).await, (1..=20).collect::<Vec<_>>());
    assert!(take_holds(201..=300).await.is_empty());
    release_holds(&subject, &deployment, 1..=300).await;
    assert_eq!(take_holds(301..=400).await.len(), 20);
}

pub(crate) async fn a_released_poll_makes_room_for_one_more(subject: Subject) {
    let deployment = fresh_deployment();
    for number in 1..=3 {
        assert_eq!(
            take_hold(&subject, &deployment, number, 3).await,
            HoldOutcome::Counted { held: number }
        );
    }
    // Releasing a poll that is not held changes nothing.
    release_holds(&subject, &deployment, [4, 5]).await;
    assert_eq!(take_hold(&subject, &deployment, 4, 3).await, HoldOutcome::Full);
    release_holds(&subject, &deployment, [2]).await;
    release_holds(&subject, &deployment, [2]).await;
    assert_eq!(
        take_hold(&subject, &deployment, 4, 3).await,
        HoldOutcome::Counted { held: 3 }
    );
    assert_eq!(take_hold(&subject, &deployment, 5, 3).await, HoldOutcome::Full);
    release_holds(&subject, &deployment, []).await;
    release_holds(&subject, &deployment, 1..=2_500).await;
    assert_eq!(
        take_hold(&subject, &deployment, 5, 1).await,
        HoldOutcome::Counted { held: 1 },
        "a release of many polls at once works as well"
    );
}

pub(crate) async fn an_unreleased_poll_ends_with_its_lease(subject: Subject) {
    let deployment = fresh_deployment();
    take_hold(&subject, &deployment, 1, 2).await;
    subject.advance_ms(4_000);
    take_hold(&subject, &deployment, 2, 2).await;
    subject.advance_ms(LEASE_MS - 4_001);
    assert_eq!(take_hold(&subject, &deployment, 3, 2).await, HoldOutcome::Full);
    subject.advance_ms(1);
    assert_eq!(
        take_hold(&subject, &deployment, 3, 2).await,
        HoldOutcome::Counted { held: 2 },
        "the lease of the first poll has ended"
    );
    assert_eq!(take_hold(&subject, &deployment, 4, 2).await, HoldOutcome::Full);
}

pub(crate) async fn polls_in_lines_of_unknown_speed_have_a_limit_of_their_own(subject: Subject) {
    let deployment = fresh_deployment();
    let take = |number, limits| take_hold_within(&subject, &deployment, number, limits);
    let counted = |held| HoldOutcome::Counted { held };
    assert_eq!(take(1, (10, None)).await, counted(1));
    assert_eq!(take(2, (10, Some(2))).await, counted(2));
    subject.advance_ms(LEASE_MS / 2);
    assert_eq!(take(3, (10, Some(2))).await, counted(3));
    assert_eq!(take(4, (10, Some(2))).await, HoldOutcome::Full);
    assert_eq!(
        take(4, (3, Some(5))).await,
        HoldOutcome::Full,
        "both limits count"
    );
    assert_eq!(take(4, (10, None)).await, counted(4), "others have room");
    release_holds(&subject, &deployment, [3]).await;
    assert_eq!(take(5, (10, Some(2))).await, counted(4));
    subject.advance_ms(LEASE_MS / 2);
    assert_eq!(
        take(6, (10, Some(2))).await,
        counted(3),
        "the leases of 1 and 2 have ended"
    );
}

pub(crate) async fn one_poll_of_an_entry_is_held_at_a_time(subject: Subject) {
    let deployment = fresh_deployment();
    take_hold(&subject, &deployment, 1, 5).await;
    subject.advance_ms(LEASE_MS / 2);
    assert_eq!(
        take_hold(&subject, &deployment, 1, 5).await,
        HoldOutcome::AlreadyHeld
    );
    // The second request does not extend the lease of the first.
    subject.advance_ms(LEASE_MS / 2);
    assert_eq!(
        take_hold(&subject, &deployment, 1, 5).await,
        HoldOutcome::Counted { held: 1 }
    );
    release_holds(&subject, &deployment, [1]).await;
    assert_eq!(
        take_hold(&subject, &deployment, 1, 5).await,
        HoldOutcome::Counted { held: 1 }
    );
}

pub(crate) async fn deployments_have_separate_limits(subject: Subject) {
    let (one, other) = (fresh_deployment(), fresh_deployment());
    assert_eq!(
        take_hold(&subject, &one, 1, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
    assert_eq!(
        take_hold(&subject, &other, 1, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
    release_holds(&subject, &other, [1]).await;
    assert_eq!(take_hold(&subject, &one, 2, 1).await, HoldOutcome::Full);
    assert_eq!(
        take_hold(&subject, &other, 2, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
    assert_eq!(
        take_hold(&subject, &one, 3, 0).await,
        HoldOutcome::Full,
        "a limit of 0 accepts no poll"
    );
}

/// After the server's clock is set back, old leases seem to end in an hour. They do not block new polls for so
/// long.
pub(crate) async fn a_clock_set_far_back_does_not_prolong_leases(subject: Subject) {
    let deployment = fresh_deployment();
    take_hold(&subject, &deployment, 1, 1).await;
    subject.clock.set_back(Duration::from_hours(1));
    assert_eq!(take_hold(&subject, &deployment, 2, 1).await, HoldOutcome::Full);
    subject.advance_ms(HOLD_LEASE_MAX_MS - 1);
    assert_eq!(take_hold(&subject, &deployment, 2, 1).await, HoldOutcome::Full);
    subject.advance_ms(1);
    assert_eq!(
        take_hold(&subject, &deployment, 2, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
}
