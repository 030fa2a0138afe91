//! Polls that are held, counted over a whole deployment.

use std::time::Duration;

use futures_util::future::join_all;
use uuid::Uuid;
use vestibule_domain::{id::EntryId, poll_pacing::HOLD_LEASE_MAX_MS};
use vestibule_line::{HoldOrder, HoldOutcome};
use vestibule_tests::lines::{Subject, visitor};

const LEASE_MS: u64 = 10_000;

/// A deployment that no other test has.
fn fresh_deployment() -> String {
    format!("test-{}", Uuid::new_v4())
}

async fn holds(subject: &Subject, deployment: &str, number: u64, below: u64) -> HoldOutcome {
    let order = HoldOrder {
        deployment,
        id: visitor(number),
        below,
        lease_ms: LEASE_MS,
    };
    subject.line.take_hold(&order).await.expect("counted")
}

async fn releases(subject: &Subject, deployment: &str, numbers: impl IntoIterator<Item = u64>) {
    let ids: Vec<EntryId> = numbers.into_iter().map(visitor).collect();
    subject
        .line
        .release_holds(deployment, &ids)
        .await
        .expect("released");
}

/// Those that were counted in, with what each was told of how many there are.
fn counted(outcomes: impl IntoIterator<Item = HoldOutcome>) -> Vec<u64> {
    let mut held: Vec<_> = outcomes
        .into_iter()
        .filter_map(|outcome| match outcome {
            HoldOutcome::Counted { held } => Some(held),
            HoldOutcome::Full => None,
            HoldOutcome::AlreadyHeld => panic!("each is another entry"),
        })
        .collect();
    held.sort_unstable();
    held
}

pub(crate) async fn never_more_polls_are_held_than_may_be(subject: Subject) {
    let deployment = fresh_deployment();
    let crowd = async |numbers: std::ops::RangeInclusive<u64>| {
        let asked = numbers.map(|number| holds(&subject, &deployment, number, 20));
        counted(join_all(asked).await)
    };
    assert_eq!(crowd(1..=200).await, (1..=20).collect::<Vec<_>>());
    assert!(crowd(201..=300).await.is_empty());
    releases(&subject, &deployment, 1..=300).await;
    assert_eq!(crowd(301..=400).await.len(), 20);
}

pub(crate) async fn a_released_poll_makes_room_for_one(subject: Subject) {
    let deployment = fresh_deployment();
    for number in 1..=3 {
        assert_eq!(
            holds(&subject, &deployment, number, 3).await,
            HoldOutcome::Counted { held: number }
        );
    }
    // One that is not held gives nothing back.
    releases(&subject, &deployment, [4, 5]).await;
    assert_eq!(holds(&subject, &deployment, 4, 3).await, HoldOutcome::Full);
    releases(&subject, &deployment, [2]).await;
    releases(&subject, &deployment, [2]).await;
    assert_eq!(
        holds(&subject, &deployment, 4, 3).await,
        HoldOutcome::Counted { held: 3 }
    );
    assert_eq!(holds(&subject, &deployment, 5, 3).await, HoldOutcome::Full);
    releases(&subject, &deployment, []).await;
    releases(&subject, &deployment, 1..=2_500).await;
    assert_eq!(
        holds(&subject, &deployment, 5, 1).await,
        HoldOutcome::Counted { held: 1 },
        "also where many are released at once"
    );
}

pub(crate) async fn a_poll_that_nobody_releases_is_forgotten_when_its_lease_is_over(subject: Subject) {
    let deployment = fresh_deployment();
    holds(&subject, &deployment, 1, 2).await;
    subject.advance_ms(4_000);
    holds(&subject, &deployment, 2, 2).await;
    subject.advance_ms(LEASE_MS - 4_001);
    assert_eq!(holds(&subject, &deployment, 3, 2).await, HoldOutcome::Full);
    subject.advance_ms(1);
    assert_eq!(
        holds(&subject, &deployment, 3, 2).await,
        HoldOutcome::Counted { held: 2 },
        "the first one's process died"
    );
    assert_eq!(holds(&subject, &deployment, 4, 2).await, HoldOutcome::Full);
}

pub(crate) async fn one_poll_of_an_entry_is_held_at_a_time(subject: Subject) {
    let deployment = fresh_deployment();
    holds(&subject, &deployment, 1, 5).await;
    subject.advance_ms(LEASE_MS / 2);
    assert_eq!(holds(&subject, &deployment, 1, 5).await, HoldOutcome::AlreadyHeld);
    // And the second one does not make the lease of the first longer.
    subject.advance_ms(LEASE_MS / 2);
    assert_eq!(
        holds(&subject, &deployment, 1, 5).await,
        HoldOutcome::Counted { held: 1 }
    );
    releases(&subject, &deployment, [1]).await;
    assert_eq!(
        holds(&subject, &deployment, 1, 5).await,
        HoldOutcome::Counted { held: 1 }
    );
}

pub(crate) async fn deployments_are_counted_apart(subject: Subject) {
    let (one, other) = (fresh_deployment(), fresh_deployment());
    assert_eq!(
        holds(&subject, &one, 1, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
    assert_eq!(
        holds(&subject, &other, 1, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
    releases(&subject, &other, [1]).await;
    assert_eq!(holds(&subject, &one, 2, 1).await, HoldOutcome::Full);
    assert_eq!(
        holds(&subject, &other, 2, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
    assert_eq!(
        holds(&subject, &one, 3, 0).await,
        HoldOutcome::Full,
        "no budget holds nobody"
    );
}

/// Leases that seem to end in an hour, since the server's clock was set back, do not keep others out for so long.
pub(crate) async fn no_lease_outlives_a_clock_that_is_set_back_by_much(subject: Subject) {
    let deployment = fresh_deployment();
    holds(&subject, &deployment, 1, 1).await;
    subject.clock.set_back(Duration::from_hours(1));
    assert_eq!(holds(&subject, &deployment, 2, 1).await, HoldOutcome::Full);
    subject.advance_ms(HOLD_LEASE_MAX_MS - 1);
    assert_eq!(holds(&subject, &deployment, 2, 1).await, HoldOutcome::Full);
    subject.advance_ms(1);
    assert_eq!(
        holds(&subject, &deployment, 2, 1).await,
        HoldOutcome::Counted { held: 1 }
    );
}
