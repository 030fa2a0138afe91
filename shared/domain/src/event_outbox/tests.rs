//! Which events a queue has, and which of them are still to be sent.

use super::*;
use crate::{queue_event::EntrancePhase, queue_state::QueueState};

fn salt() -> Salt {
    Salt::new([3; 32])
}

fn queue() -> QueueId {
    "shop:1".parse().expect("a queue id")
}

fn switches(phase: EntrancePhase, is_paused: bool) -> SwitchesInForce {
    SwitchesInForce {
        phase,
        is_paused,
        finish_reason: None,
        state: if is_paused {
            QueueState::Paused
        } else {
            QueueState::Open
        },
    }
}

fn observation(switches: SwitchesInForce) -> QueueObservation {
    QueueObservation {
        life: QueueLife::new(1, &salt()),
        switches: Some(switches),
        health: QueueHealth::Unknown,
        at_ms: 1_000,
    }
}

fn new_outbox() -> EventOutbox {
    EventOutbox::new(QueueLife::new(1, &salt()))
}

fn kinds(outbox: &EventOutbox) -> Vec<QueueEventKind> {
    outbox.pending().iter().map(|event| event.kind).collect()
}

fn troubled(names: &[&str]) -> QueueObservation {
    QueueObservation {
        health: QueueHealth::Troubled(names.iter().map(|name| (*name).to_owned()).collect()),
        switches: None,
        ..observation(switches(EntrancePhase::Open, false))
    }
}

#[test]
fn each_change_of_the_switches_is_one_event() {
    let mut outbox = new_outbox();
    for (phase, is_paused) in [
        (EntrancePhase::Scheduled, false),
        (EntrancePhase::Open, false),
        (EntrancePhase::Open, true),
        (EntrancePhase::Draining, true),
        (EntrancePhase::Draining, false),
        (EntrancePhase::Closed, false),
        (EntrancePhase::Open, false),
        (EntrancePhase::Finished, false),
    ] {
        let seen = observation(switches(phase, is_paused));
        outbox.notice(&queue(), &seen);
        assert!(!outbox.notice(&queue(), &seen), "seen twice: {phase:?}");
    }
    let expected = [
        QueueEventKind::Opened,
        QueueEventKind::Paused,
        QueueEventKind::Draining,
        QueueEventKind::Resumed,
        QueueEventKind::Closed,
        QueueEventKind::Opened,
        QueueEventKind::Finished,
    ];
    assert_eq!(kinds(&outbox), expected);
    let serials: Vec<_> = outbox.pending().iter().map(|event| event.serial).collect();
    assert_eq!(serials, [1, 2, 3, 4, 5, 6, 7]);
    let ids: BTreeSet<_> = outbox.pending().iter().map(|event| &event.id).collect();
    assert_eq!(ids.len(), expected.len(), "two changes have different ids");
}

#[test]
fn opening_and_pause_of_one_observation_are_two_events() {
    let mut outbox = new_outbox();
    outbox.notice(&queue(), &observation(switches(EntrancePhase::Open, true)));
    assert_eq!(kinds(&outbox), [QueueEventKind::Opened, QueueEventKind::Paused]);
}

#[test]
fn two_processes_give_one_change_the_same_id() {
    let seen = observation(switches(EntrancePhase::Open, false));
    let (mut one, mut other) = (new_outbox(), new_outbox());
    one.notice(&queue(), &seen);
    other.notice(&queue(), &QueueObservation { at_ms: 1_500, ..seen });
    assert_eq!(one.pending()[0].id, other.pending()[0].id);
}

#[test]
fn another_life_begins_anew_and_keeps_unsent_events() {
    let mut outbox = new_outbox();
    let seen = observation(switches(EntrancePhase::Open, false));
    outbox.notice(&queue(), &seen);
    for life in [QueueLife::new(2, &salt()), QueueLife::new(2, &Salt::new([4; 32]))] {
        outbox.notice(&queue(), &QueueObservation { life, ..seen.clone() });
    }
    assert_eq!(kinds(&outbox), [QueueEventKind::Opened; 3]);
    let ids: BTreeSet<_> = outbox.pending().iter().map(|event| &event.id).collect();
    assert_eq!(ids.len(), 3, "each life has its own opening");
    assert_eq!(outbox.pending()[2].generation, 2);
}

#[test]
fn each_new_trouble_is_told_and_the_recovery_once() {
    let mut outbox = new_outbox();
    let health = |health| QueueObservation {
        health,
        ..troubled(&[])
    };
    assert!(
        !outbox.notice(&queue(), &health(QueueHealth::Sound)),
        "no trouble, no recovery"
    );
    outbox.notice(&queue(), &troubled(&["tick"]));
    outbox.notice(&queue(), &troubled(&["tick"]));
    outbox.notice(&queue(), &troubled(&["sync", "tick"]));
    outbox.notice(&queue(), &troubled(&["sync"]));
    assert!(
        !outbox.notice(&queue(), &health(QueueHealth::Unknown)),
        "a new process does not know yet"
    );
    outbox.notice(&queue(), &health(QueueHealth::Sound));
    outbox.notice(&queue(), &health(QueueHealth::Sound));
    let expected = [
        QueueEventKind::InTrouble,
        QueueEventKind::InTrouble,
        QueueEventKind::Recovered,
    ];
    assert_eq!(kinds(&outbox), expected);
    assert_eq!(outbox.pending()[1].troubles.len(), 2);
    assert!(outbox.pending()[2].troubles.is_empty());
}

#[test]
fn sent_events_leave_and_unsent_ones_stay() {
    let mut outbox = new_outbox();
    outbox.notice(&queue(), &observation(switches(EntrancePhase::Open, true)));
    let sent = BTreeSet::from([outbox.pending()[0].id.clone()]);
    assert!(outbox.acknowledge(&sent));
    assert!(!outbox.acknowledge(&sent));
    assert_eq!(kinds(&outbox), [QueueEventKind::Paused]);
}

#[test]
fn full_outbox_drops_the_oldest_event() {
    let mut outbox = new_outbox();
    for number in 0..PENDING_EVENTS_MAX + 3 {
        let seen = observation(switches(EntrancePhase::Open, number % 2 == 1));
        outbox.notice(&queue(), &seen);
    }
    assert_eq!(outbox.pending().len(), PENDING_EVENTS_MAX);
    assert_eq!((outbox.dropped(), outbox.pending()[0].serial), (3, 4));
}

#[test]
fn stored_outbox_reads_back_unchanged() {
    let mut outbox = new_outbox();
    outbox.notice(&queue(), &observation(switches(EntrancePhase::Open, true)));
    outbox.notice(&queue(), &troubled(&["tick"]));
    let json = serde_json::to_string(&outbox).expect("JSON");
    assert_eq!(
        serde_json::from_str::<EventOutbox>(&json).expect("an outbox"),
        outbox
    );
}
