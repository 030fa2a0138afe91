use vestibule_domain::lane::LaneProgress;

use super::*;

/// An entry at place 100,000 and position 20,000 of which the wait is ten minutes.
const FAR: FarEntry = FarEntry {
    place: 100_000,
    lane: 0,
    position: 20_000,
    gone_ahead: 500,
    eta_ms: 600_000,
    retry_after_ms: 40_000,
    look_after_ms: 600_000,
};

fn lane(check_in_through: u64, gone_ahead: i64) -> LaneProgress {
    LaneProgress {
        check_in_through,
        passed_through: check_in_through - 1_000,
        gone_ahead,
        ..LaneProgress::new(0)
    }
}

/// A client that is told at 0 ms that its entry is far away. Its draws are in the middle.
fn client(documents: &PublicDocuments) -> Follower {
    let mut follower = Follower::default();
    follower.receive_entry(Some(FAR), documents, 0, 0.5);
    follower
}

#[test]
fn a_far_client_reads_the_document_after_a_sixth_of_the_wait() {
    let mut documents = PublicDocuments::default();
    let mut follower = client(&documents);
    let next = |follower: &Follower, documents: &PublicDocuments| follower.next_request(documents);
    assert_eq!(next(&follower, &documents), Some(NextRequest::Document(60_000)));
    for (rate, refresh_ms) in [(400.0, 8_125), (10_000.0, 3_000), (0.1, 60_000)] {
        let id = documents.add(lane(50_000, 1_000), Some(rate));
        follower.receive_document(id, &documents, 10_000, 0.5);
        let expected = NextRequest::Document(10_000 + refresh_ms);
        assert_eq!(
            next(&follower, &documents),
            Some(expected),
            "19,500 ahead at {rate}/s"
        );
    }
}

#[test]
fn a_document_that_reaches_the_place_makes_the_client_ask() {
    let mut documents = PublicDocuments::default();
    let mut follower = client(&documents);
    let id = documents.add(lane(100_000, 1_000), Some(20.0));
    follower.receive_document(id, &documents, 60_000, 0.5);
    assert_eq!(
        follower.next_request(&documents),
        Some(NextRequest::Status(60_000))
    );
    // The answer is right that the boundary went back: the same document does not call again.
    follower.receive_entry(Some(FAR), &documents, 60_100, 0.5);
    assert!(matches!(
        follower.next_request(&documents),
        Some(NextRequest::Document(_))
    ));
    follower.receive_entry(None, &documents, 60_100, 0.5);
    assert_eq!(
        follower.next_request(&documents),
        None,
        "a called entry is polled"
    );
}

#[test]
fn an_older_copy_is_ignored() {
    let mut documents = PublicDocuments::default();
    let mut follower = client(&documents);
    let older = documents.add(lane(100_000, 1_000), Some(20.0));
    let newer = documents.add(lane(50_000, 1_000), Some(20.0));
    follower.receive_document(newer, &documents, 60_000, 0.5);
    follower.receive_document(older, &documents, 61_000, 0.5);
    assert!(matches!(
        follower.next_request(&documents),
        Some(NextRequest::Document(_))
    ));
}

#[test]
fn only_a_client_near_the_boundary_asks_when_documents_stay_stale() {
    let mut documents = PublicDocuments::default();
    let (mut far, mut near) = (client(&documents), client(&documents));
    let entry = FarEntry {
        position: 1_400,
        eta_ms: 30_000,
        ..FAR
    };
    near.receive_entry(Some(entry), &documents, 0, 0.5);
    near.lowest_position = 1_400;
    let id = documents.add(lane(50_000, 500), Some(4.0));
    let mut statuses = [None, None];
    for (follower, status) in [&mut far, &mut near].into_iter().zip(&mut statuses) {
        let mut now_ms = 0;
        while now_ms < 700_000 {
            match follower.next_request(&documents).expect("the client is far") {
                NextRequest::Document(at_ms) => {
                    assert!(at_ms >= now_ms);
                    now_ms = at_ms.max(now_ms + 1);
                    follower.receive_document(id, &documents, now_ms, 0.5);
                }
                NextRequest::Status(at_ms) => {
                    *status = Some(at_ms);
                    break;
                }
            }
        }
    }
    assert_eq!(statuses[0], Some(600_000), "look_after_ms");
    let near_at_ms = statuses[1].expect("a status request");
    assert!(
        (100_000..250_000).contains(&near_at_ms),
        "two refreshes: {near_at_ms}"
    );
}

#[test]
fn failed_requests_are_repeated_later_and_later() {
    let mut documents = PublicDocuments::default();
    let mut follower = client(&documents);
    let mut pauses = Vec::new();
    let mut now_ms = 60_000;
    for _ in 0..8 {
        follower.postpone_read(0, now_ms, 1.0);
        let Some(NextRequest::Document(at_ms)) = follower.next_request(&documents) else {
            panic!("the client still waits for a document");
        };
        pauses.push(at_ms - now_ms);
        now_ms = at_ms;
    }
    assert_eq!(
        pauses,
        [4_000, 5_000, 7_000, 11_000, 19_000, 35_000, 63_000, 63_000]
    );
    let id = documents.add(lane(50_000, 500), Some(20.0));
    follower.receive_document(id, &documents, now_ms, 0.5);
    follower.postpone_status(&documents, 1_000_000, now_ms);
    let Some(NextRequest::Document(_)) = follower.next_request(&documents) else {
        panic!("a failed status request waits");
    };
}

#[test]
fn a_failed_look_is_repeated_as_late_as_the_next_one() {
    let mut documents = PublicDocuments::default();
    let mut follower = client(&documents);
    follower.postpone_status(&documents, 605_000, 600_000);
    follower.postpone_read(3_600_000, 600_000, 0.5);
    assert_eq!(
        follower.next_request(&documents),
        Some(NextRequest::Status(1_200_000))
    );
    let id = documents.add(lane(100_000, 1_000), Some(20.0));
    follower.receive_document(id, &documents, 606_000, 0.5);
    let called = Some(NextRequest::Status(606_000));
    assert_eq!(follower.next_request(&documents), called, "the turn is near");
}
