//! Visitors who close the page, and so leave the line.

use vestibule_domain::{
    change::{EndReason, Event},
    fact::Fact,
    settings::{BeforeOpening, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, JoinKind, LeaveReason, MarkClosingOutcome, PROMOTE_CHUNK};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    draw::enter_before_draw,
    missing::{expect_end, expect_end_reason},
    presence::{PRESENCE_SECONDS, check_in, counts, run_seconds},
    restore::{configuration_of_epoch, restored_entries},
    settings::bounded,
};

/// The seconds from the closing to the end.
const SECONDS: u64 = 15;

/// The number of the visitor who takes the slot.
const ACTIVE: u64 = 5_000;

/// One slot, which the first visitor takes, and the visitors of closed pages leave.
fn leaving() -> Settings {
    Settings {
        leave_on_close: true,
        session_seconds: 7_200,
        session_max_seconds: 7_200,
        ..bounded(1, 1, 1)
    }
}

/// Opens a queue in which one visitor is active, and these wait.
async fn open_with_line(subject: &mut Subject, settings: Settings, waiting: u64) {
    subject.open(settings).await;
    subject.enter(visitor(ACTIVE)).await;
    subject.line_up(1..=waiting).await;
    run_seconds(subject, 1, &[]).await;
}

async fn close_page(subject: &Subject, number: u64) -> MarkClosingOutcome {
    let marked = subject
        .line
        .mark_closing(&subject.queue, visitor(number), None)
        .await;
    marked.expect("an answer")
}

async fn send_request(subject: &Subject, number: u64) {
    let removed = subject
        .line
        .remove_closing_mark(&subject.queue, visitor(number))
        .await;
    removed.expect("an answer");
}

pub(crate) async fn a_visitor_leaves_15_s_after_closing_the_page(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 3).await;
    let visit = subject.status(visitor(2)).await.visit();
    assert_eq!(close_page(&subject, 2).await, MarkClosingOutcome::Marked);
    run_seconds(&subject, SECONDS - 1, &[]).await;
    assert_eq!(subject.state(visitor(2)).await, EntryState::Waiting);
    subject.advance_seconds(1);
    let tick = subject.tick().await;
    assert_eq!((tick.left, tick.waiting, tick.absences), (1, 2, 0));
    let end = expect_end(&subject, 2).await;
    let how = EndReason::Left;
    assert_eq!(
        (end.event, end.fact()),
        (
            Event::Ended {
                fact: end.fact(),
                how
            },
            Fact::ended(visit)
        )
    );
    let journal = subject.journal().await;
    let changes = journal.iter().flat_map(|record| &record.changes);
    let ends: Vec<_> = changes.filter(|change| change.visit_end().is_some()).collect();
    assert_eq!(ends, [&end], "the backup hears of it");
    let view = subject.view().await;
    assert_eq!((view.totals.left, view.imbalance.visits), (1, 0));
    assert_eq!(subject.position(visitor(3)).await, 2);
    assert_eq!(subject.enter(visitor(2)).await.kind, JoinKind::NewVisit);
    run_seconds(&subject, SECONDS + 1, &[]).await;
    assert_eq!(subject.state(visitor(2)).await, EntryState::Waiting);
}

pub(crate) async fn a_request_after_the_closing_keeps_the_place(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 2).await;
    close_page(&subject, 1).await;
    run_seconds(&subject, SECONDS - 1, &[]).await;
    send_request(&subject, 1).await;
    run_seconds(&subject, 2 * SECONDS, &[]).await;
    assert_eq!(subject.position(visitor(1)).await, 1);
    // A check-in alone may be the end of a held poll, whose page is closed.
    close_page(&subject, 2).await;
    check_in(&subject, 2).await;
    run_seconds(&subject, SECONDS, &[]).await;
    assert_eq!(expect_end_reason(&subject, 2).await, EndReason::Left);
}

pub(crate) async fn only_waiting_entries_of_such_a_queue_are_marked(mut subject: Subject) {
    open_with_line(&mut subject, bounded(1, 1, 1), 2).await;
    assert_eq!(close_page(&subject, 1).await, MarkClosingOutcome::Ignored);
    subject
        .change_settings(|settings| settings.leave_on_close = true)
        .await;
    for number in [ACTIVE, 77] {
        assert_eq!(close_page(&subject, number).await, MarkClosingOutcome::Ignored);
    }
    let other_visit = Some(subject.status(visitor(2)).await.visit());
    let marked = subject
        .line
        .mark_closing(&subject.queue, visitor(1), other_visit)
        .await;
    assert_eq!(marked.expect("an answer"), MarkClosingOutcome::Ignored);
    run_seconds(&subject, SECONDS + 1, &[]).await;
    assert_eq!(subject.view().await.waiting, 2);
    // Nor does a mark count that was made before the queue took the setting back.
    assert_eq!(close_page(&subject, 1).await, MarkClosingOutcome::Marked);
    subject
        .change_settings(|settings| settings.leave_on_close = false)
        .await;
    run_seconds(&subject, SECONDS + 1, &[]).await;
    subject
        .change_settings(|settings| settings.leave_on_close = true)
        .await;
    run_seconds(&subject, SECONDS + 1, &[]).await;
    assert_eq!(subject.view().await.waiting, 2);
}

pub(crate) async fn a_closing_ends_no_later_visit_and_no_turn(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 2).await;
    for number in [1, 2] {
        assert_eq!(close_page(&subject, number).await, MarkClosingOutcome::Marked);
    }
    subject.advance_seconds(1);
    subject.leave(visitor(2), LeaveReason::Leave).await;
    assert_eq!(subject.enter(visitor(2)).await.kind, JoinKind::NewVisit);
    subject.change_settings(|settings| settings.capacity = 2).await;
    assert_eq!(run_seconds(&subject, 1, &[]).await, 1);
    run_seconds(&subject, SECONDS + 1, &[]).await;
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
    assert_eq!(subject.state(visitor(2)).await, EntryState::Waiting);
}

pub(crate) async fn visitors_of_closed_pages_leave_in_chunks(mut subject: Subject) {
    let count = PROMOTE_CHUNK + 5;
    open_with_line(&mut subject, leaving(), 0).await;
    subject.line_up_silently(1..=count).await;
    run_seconds(&subject, 1, &[]).await;
    for number in 1..=count {
        assert_eq!(close_page(&subject, number).await, MarkClosingOutcome::Marked);
    }
    run_seconds(&subject, SECONDS - 1, &[]).await;
    subject.advance_seconds(1);
    let first = subject.tick().await;
    assert_eq!((first.left, first.has_more), (PROMOTE_CHUNK, true));
    let second = subject.tick().await;
    assert_eq!((second.left, second.has_more, second.waiting), (5, false, 0));
}

pub(crate) async fn no_visitor_leaves_whom_the_line_may_not_have_heard(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 2).await;
    // No tick runs for a while, as if Redis could not be reached.
    close_page(&subject, 1).await;
    run_seconds(&subject, 5, &[]).await;
    subject.advance_seconds(11);
    assert_eq!(subject.tick().await.left, 0);
    run_seconds(&subject, 2 * SECONDS, &[]).await;
    assert_eq!(subject.state(visitor(1)).await, EntryState::Waiting);
    // The clocks disagree.
    close_page(&subject, 1).await;
    subject.clock.set_server_error_ms(7_200_000);
    assert_eq!(subject.tick().await.left, 0);
    assert_eq!(close_page(&subject, 2).await, MarkClosingOutcome::Ignored);
    subject.clock.set_server_error_ms(0);
    run_seconds(&subject, 2 * SECONDS, &[]).await;
    assert_eq!(subject.view().await.waiting, 2);
}

pub(crate) async fn no_visitor_leaves_while_the_front_door_is_down(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 60).await;
    let all: Vec<u64> = (1..=60).collect();
    run_seconds(&subject, 60, &all).await;
    // Six visitors a second polled. From now on no request comes through.
    close_page(&subject, 30).await;
    run_seconds(&subject, 3 * SECONDS, &[]).await;
    run_seconds(&subject, SECONDS, &all).await;
    assert_eq!(subject.state(visitor(30)).await, EntryState::Waiting);
}

pub(crate) async fn an_absent_visitor_may_leave_by_closing_the_page(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 3).await;
    run_seconds(&subject, PRESENCE_SECONDS + 10, &[2]).await;
    subject.change_settings(|settings| settings.capacity = 2).await;
    run_seconds(&subject, 3, &[]).await;
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
    let absent_before = counts(&subject).await.2;
    close_page(&subject, 1).await;
    run_seconds(&subject, SECONDS, &[]).await;
    assert_eq!(expect_end_reason(&subject, 1).await, EndReason::Left);
    assert_eq!((absent_before, counts(&subject).await.2), (1, 0));
}

pub(crate) async fn a_visitor_may_leave_before_a_draw(mut subject: Subject) {
    let opens_at_ms = subject.clock.now_ms() + 3_600_000;
    subject
        .open(Settings {
            opens_at_ms: Some(opens_at_ms),
            before_opening: BeforeOpening::Draw,
            draw_anyone: true,
            ..leaving()
        })
        .await;
    for number in [1, 2] {
        enter_before_draw(&subject, number, Arrival::Ordinary).await;
    }
    let visit = subject.status(visitor(2)).await.visit();
    run_seconds(&subject, 1, &[]).await;
    close_page(&subject, 2).await;
    run_seconds(&subject, SECONDS, &[]).await;
    assert_eq!(expect_end(&subject, 2).await.fact(), Fact::ended(visit));
    assert_eq!(subject.state(visitor(1)).await, EntryState::Waiting);
}

pub(crate) async fn a_restored_queue_has_forgotten_who_closed_the_page(mut subject: Subject) {
    open_with_line(&mut subject, leaving(), 2).await;
    let mut changes = Vec::new();
    for number in [1, 2] {
        changes.extend(subject.enter(visitor(number)).await.change);
    }
    subject.change_settings(|settings| settings.paused = true).await;
    assert_eq!(close_page(&subject, 1).await, MarkClosingOutcome::Marked);
    let configuration = configuration_of_epoch(&subject, 2);
    let entries = restored_entries(&changes);
    let restored = subject
        .line
        .restore(&subject.queue, &configuration, 0, entries)
        .await;
    restored.expect("restored");
    run_seconds(&subject, 2 * SECONDS, &[]).await;
    assert_eq!(subject.view().await.waiting, 2);
}
