use std::collections::HashMap;

use vestibule_domain::{change::Version, consumption::Consumption, fact::Fact, lane::Lane};

use super::*;

fn decode(list: &[String]) -> Result<Vec<Change>, LineError> {
    let (names, values): (Vec<_>, Vec<_>) = list
        .chunks(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .unzip();
    let fields: HashMap<_, _> = names.into_iter().zip(values).collect();
    decode_record(&Fields::new("a journal record", fields))
}

fn change(event: Event) -> Change {
    Change {
        id: "0f8fad5b-d9cb-869f-a165-70867728950e"
            .parse()
            .expect("an entry id"),
        version: Version {
            epoch: 2,
            v: 1_795_260_581_079_001,
        },
        at_ms: 1_795_260_581_079,
        event,
        source: None,
    }
}

#[test]
fn every_change_decodes_as_it_was_encoded() {
    let visit = Visit::new(15_250_171_156_480).expect("a visit");
    let (place, deadline_ms) = (visit.place(), 1_795_260_641_079);
    let mut events = vec![Event::CameBack { place }];
    for after in [None, Visit::new(7)] {
        events.push(Event::Entered { place, after });
        events.push(Event::FastTracked {
            place,
            session_end_ms: deadline_ms,
            after,
            claimed_at_ms: None,
        });
    }
    for turn in [Turn::First, Turn::Second] {
        let claim_by_ms = deadline_ms;
        events.push(Event::LaneMoved {
            place: place.in_lane(Lane::LAST),
            turn,
            moved_at_ms: deadline_ms,
        });
        events.push(Event::Promoted {
            place,
            turn,
            claim_by_ms,
        });
        events.push(Event::StillReady {
            visit,
            turn,
            claim_by_ms,
        });
        let fact = Fact::ready(visit, turn, claim_by_ms).timed_out();
        let how = EndReason::NoShow;
        events.push(Event::Ended { fact, how });
    }
    for how in [EndReason::Left, EndReason::Evicted] {
        let fact = Fact::held(visit, deadline_ms);
        events.push(Event::Ended { fact, how });
    }
    let session_end_ms = deadline_ms;
    events.push(Event::Claimed {
        visit,
        session_end_ms,
    });
    events.push(Event::Extended {
        visit,
        session_end_ms,
    });
    let fact = Fact::active(visit, session_end_ms).timed_out();
    let how = EndReason::Expired;
    events.push(Event::Ended { fact, how });
    let consumed = EndReason::Consumed(Consumption {
        use_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff".parse().expect("a UUID"),
        session_end_ms,
    });
    for how in [
        EndReason::Completed,
        consumed,
        EndReason::Left,
        EndReason::Evicted,
    ] {
        let fact = Fact::ended(visit);
        events.push(Event::Ended { fact, how });
    }
    for event in events {
        let encoded = encode_change(&change(event));
        assert_eq!(encoded.len(), 20, "{event:?}");
        assert_eq!(decode(&encoded).ok(), Some(vec![change(event)]), "{event:?}");
    }
}

#[test]
fn source_of_a_change_is_kept_and_may_be_unknown() {
    let place = Visit::new(15_250_171_156_480).expect("a visit").place();
    let known = Change {
        source: "AAECAwQFBgc".parse().ok(),
        ..change(Event::Entered { place, after: None })
    };
    assert!(known.source.is_some());
    let encoded = encode_change(&known);
    assert_eq!(decode(&encoded).ok(), Some(vec![known]));
    let unknown = Change {
        source: None,
        ..known
    };
    assert_eq!(decode(&encode_change(&unknown)).ok(), Some(vec![unknown]));
}

#[test]
fn every_change_of_a_tick_decodes_as_it_was_encoded() {
    let visit = Visit::new(15_250_171_156_480).expect("a visit");
    let (place, claim_by_ms) = (visit.place(), 1_795_260_641_079);
    let no_show = |turn| Event::Ended {
        fact: Fact::ready(visit, turn, 1_795_260_581_078).timed_out(),
        how: EndReason::NoShow,
    };
    let expired = Event::Ended {
        fact: Fact::active(visit, 1_795_260_581_077).timed_out(),
        how: EndReason::Expired,
    };
    let promoted = |turn| Event::Promoted {
        place,
        turn,
        claim_by_ms,
    };
    let changes = [
        no_show(Turn::First),
        no_show(Turn::Second),
        expired,
        Event::Ended {
            fact: Fact::ended(visit),
            how: EndReason::Evicted,
        },
        promoted(Turn::First),
        promoted(Turn::Second),
    ]
    .map(change);
    assert_eq!(decode(&encode_tick(&changes)).ok(), Some(changes.to_vec()));
    assert_eq!(decode(&encode_tick(&[])).ok(), Some(Vec::new()));
}
