//! The operation that compares an entry with its record, and the random records.

use proptest::{option, prelude::*};
use vestibule_domain::{
    change::{EndReason, Version},
    consumption::Consumption,
    fact::{Fact, Step},
    lane::Lane,
    record::EntryRecord,
    score::{ARRIVALS_PER_MS, Visit, WaitScore},
    state::EntryState,
};
use vestibule_line::{AdoptBasis, AdoptOrder};
use vestibule_tests::lines::visitor;

use crate::{
    checked_line::CheckedLine,
    operations::{self, Operation, use_id},
};

/// A comparison of an entry with its record.
#[derive(Debug, Clone)]
pub(crate) struct Adoption {
    pub(crate) visitor: u64,
    basis: Basis,
    /// `None`: the backup has no record.
    record: Option<RandomRecord>,
    /// How many generations the record is later than the line.
    later_generations: u32,
}

/// What the caller knows of the entry in the line.
#[derive(Debug, Clone, Copy)]
enum Basis {
    Known,
    /// The line did not know the entry this long ago.
    UnknownAgoMs(u64),
    /// `enter` gave a place.
    Provisional {
        grace_seconds: u32,
    },
}

/// A record relative to what the line knows of the entry.
#[derive(Debug, Clone)]
struct RandomRecord {
    /// The visit, relative to the one in the line. May be negative.
    later_visits: i64,
    fact: RandomFact,
    how: EndReason,
    /// The lane of the place; `None` if the record has no place.
    lane: Option<Lane>,
    /// When the visit ended, relative to now; `None` if the record does not tell.
    ended_ago_ms: Option<u64>,
    /// How many epochs the record is later than the line. May be negative.
    later_epochs: i32,
}

#[derive(Debug, Clone, Copy)]
enum RandomFact {
    /// The fact in the line, with another time, which may be over.
    OfLine { later_ms: i64, is_over: bool },
    /// Any fact. A deadline is relative to now.
    Any {
        step: Step,
        ms_from_now: i64,
        is_over: bool,
    },
}

pub(crate) fn adoption() -> impl Strategy<Value = Adoption> {
    let basis = prop_oneof![
        2 => Just(Basis::Known),
        4 => prop_oneof![3 => 0_u64..5_000, 1 => 4_990_u64..5_010, 1 => 5_000_u64..20_000]
            .prop_map(Basis::UnknownAgoMs),
        4 => prop_oneof![1 => Just(0_u32), 1 => 1_u32..60, 2 => Just(600_u32)]
            .prop_map(|grace_seconds| Basis::Provisional { grace_seconds }),
    ];
    let record = prop_oneof![1 => Just(None), 9 => random_record().prop_map(Some)];
    let later_generations = prop_oneof![15 => Just(0_u32), 1 => Just(1_u32)];
    (operations::visitor(), basis, record, later_generations).prop_map(
        |(visitor, basis, record, later_generations)| Adoption {
            visitor,
            basis,
            record,
            later_generations,
        },
    )
}

fn random_record() -> impl Strategy<Value = RandomRecord> {
    let second = i64::try_from(ARRIVALS_PER_MS * 1_000).expect("a small number");
    let later_visits = prop_oneof![
        4 => Just(0_i64),
        1 => Just(-100_i64),
        3 => -200 * second..0,
        1 => Just(100_i64),
        1 => 0..100 * second,
    ];
    let how = prop_oneof![
        Just(EndReason::Completed),
        (0_u8..3).prop_map(|number| EndReason::Consumed(Consumption {
            use_id: use_id(number),
            session_end_ms: number.into(),
        })),
        Just(EndReason::Left),
        Just(EndReason::Evicted)
    ];
    let ended_ago_ms = prop_oneof![1 => Just(None), 3 => (0_u64..20_000).prop_map(Some)];
    let later_epochs = prop_oneof![1 => Just(-1), 15 => Just(0), 1 => Just(1)];
    (
        later_visits,
        random_fact(),
        how,
        option::of(operations::lane()),
        ended_ago_ms,
        later_epochs,
    )
        .prop_map(
            |(later_visits, fact, how, lane, ended_ago_ms, later_epochs)| RandomRecord {
                later_visits,
                fact,
                how,
                lane,
                ended_ago_ms,
                later_epochs,
            },
        )
}

fn random_fact() -> impl Strategy<Value = RandomFact> {
    let later_ms = prop_oneof![3 => Just(0_i64), 1 => -2_i64..3, 1 => -20_000_i64..20_000];
    let step = prop_oneof![
        2 => Just(Step::Waiting),
        3 => Just(Step::Ready),
        1 => Just(Step::WaitingAgain),
        1 => Just(Step::ReadyAgain),
        3 => Just(Step::Active),
        3 => Just(Step::Held),
        2 => Just(Step::Ended),
    ];
    prop_oneof![
        2 => (later_ms, any::<bool>()).prop_map(|(later_ms, is_over)| RandomFact::OfLine { later_ms, is_over }),
        5 => (step, -50_000_i64..100_000, any::<bool>()).prop_map(|(step, ms_from_now, is_over)| {
            RandomFact::Any { step, ms_from_now, is_over }
        }),
    ]
}

impl CheckedLine {
    pub(crate) async fn build_adopt_order(&self, op: &Operation) -> Option<AdoptOrder> {
        let Operation::Adopt(adoption) = op else {
            return None;
        };
        let number = adoption.visitor;
        let view = self.line.queue_view(&self.queue).await.expect("a view");
        let in_line = self.read_fact(number).await;
        let last_visit = in_line
            .map(|fact| fact.visit)
            .or(self.visits.get(&number).copied())
            .unwrap_or_else(|| {
                // No two visitors have the same place.
                let next = WaitScore::next(0, view.now_ms).visit();
                shift_visit(next, -number.cast_signed())
            });
        let basis = match adoption.basis {
            Basis::Known => AdoptBasis::Known,
            Basis::UnknownAgoMs(ms) => AdoptBasis::UnknownAt(view.now_ms.saturating_sub(ms)),
            Basis::Provisional { grace_seconds } => AdoptBasis::Provisional {
                place: match self.provisional_places.get(&number) {
                    Some(place) => *place,
                    None => shift_visit(last_visit, 1).place(),
                },
                grace_seconds,
            },
        };
        let record = adoption.record.as_ref().map(|record| {
            // No two visitors have the same place.
            let mut visit = shift_visit(last_visit, record.later_visits);
            while self
                .visits
                .iter()
                .any(|(other, known)| *other != number && *known == visit)
            {
                visit = shift_visit(visit, -1);
            }
            record.build(number, in_line, visit, view.now_ms, view.version)
        });
        Some(AdoptOrder {
            id: visitor(number),
            generation: self.generation + adoption.later_generations,
            record,
            basis,
        })
    }
}

impl RandomRecord {
    fn build(
        &self,
        number: u64,
        in_line: Option<Fact>,
        visit: Visit,
        now_ms: u64,
        version: Version,
    ) -> EntryRecord {
        let fact = self.fact.build(visit, in_line, now_ms);
        let state = fact.live_state().unwrap_or(match fact.step {
            Step::Ended => self.how.state(),
            Step::Held if self.how == EndReason::Evicted => EntryState::Evicted,
            Step::Held => EntryState::Left,
            _ => EntryState::Expired,
        });
        let consumption = self.how.consumption().filter(|_| state == EntryState::Completed);
        let ended_ago_ms = self.ended_ago_ms.filter(|_| !fact.is_live());
        EntryRecord {
            id: visitor(number),
            state,
            fact,
            version: Version {
                epoch: version.epoch.saturating_add_signed(self.later_epochs),
                v: version.v + 1,
            },
            score: self.lane.map(|lane| visit.place().in_lane(lane)),
            promoted_at_ms: None,
            claimed_at_ms: None,
            expires_at_ms: fact
                .deadline_ms()
                .or(consumption.map(|consumption| consumption.session_end_ms)),
            use_id: consumption.map(|consumption| consumption.use_id),
            earlier_use: None,
            is_overlong_wait: self.how == EndReason::OverlongWait
                && state == EntryState::Expired
                && fact.is_over,
            source: None,
            ended_at_ms: ended_ago_ms.map(|ms| now_ms.saturating_sub(ms)),
            delete_at_ms: 0,
        }
    }
}

impl RandomFact {
    fn build(self, visit: Visit, in_line: Option<Fact>, now_ms: u64) -> Fact {
        let (step, step_ms, is_over) = match (self, in_line) {
            (Self::OfLine { later_ms, is_over }, Some(fact)) => {
                (fact.step, fact.step_ms.saturating_add_signed(later_ms), is_over)
            }
            (Self::OfLine { is_over, .. }, None) => (Step::Active, now_ms + 10_000, is_over),
            (
                Self::Any {
                    step,
                    ms_from_now,
                    is_over,
                },
                _,
            ) => (step, now_ms.saturating_add_signed(ms_from_now), is_over),
        };
        // Only these steps have a time, and no fact of a held slot is over.
        let has_deadline = matches!(step, Step::Ready | Step::ReadyAgain | Step::Active);
        let has_time = has_deadline || step == Step::Held;
        Fact {
            visit,
            step,
            step_ms: if has_time { step_ms } else { 0 },
            is_over: is_over && has_deadline,
        }
    }
}

fn shift_visit(visit: Visit, later: i64) -> Visit {
    Visit::new(visit.number().saturating_add_signed(later)).unwrap_or(visit)
}
