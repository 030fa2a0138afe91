//! The conditions under which a change is written. They say in DynamoDB's condition language what
//! [`EntryRecord::decide_put`](vestibule_domain::record::EntryRecord::decide_put) decides.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use vestibule_domain::{
    change::{Change, Event, Version},
    consumption::EarlierUse,
    fact::{Fact, Step},
    score::{Visit, WaitScore},
};

use super::entry_items::{Expression, Item, number};

/// The item states a lesser fact. This is the order of [`Fact`] (`visit`, `step`, `step_ms`,
/// `is_over`): "The fields are compared in their order, so the greater of two facts is the later
/// one."
fn has_lesser_fact(fact: Fact) -> Expression {
    let text = "#visit < :visit OR (#visit = :visit AND (#step < :step OR (#step = :step AND \
                (#step_ms < :step_ms OR (#step_ms = :step_ms AND #over < :over)))))";
    Expression {
        text: text.to_owned(),
        values: HashMap::from([
            (":visit".to_owned(), number(fact.visit.number())),
            (":step".to_owned(), number(fact.step.number())),
            (":step_ms".to_owned(), number(fact.step_ms)),
            (":over".to_owned(), number(fact.is_over)),
        ]),
    }
}

/// The item shows the visit of the change, and a lesser fact of it.
pub(super) fn same_visit_before(change: &Change) -> Expression {
    let Expression { text, values } = has_lesser_fact(change.fact());
    Expression {
        text: format!("#visit = :visit AND ({text})"),
        values,
    }
}

/// The item has no later version than this one.
pub(super) fn no_later_version(version: Version) -> Expression {
    Expression {
        text: "#epoch < :epoch OR (#epoch = :epoch AND #v <= :v)".to_owned(),
        values: HashMap::from([
            (":epoch".to_owned(), number(version.epoch)),
            (":v".to_owned(), number(version.v)),
        ]),
    }
}

/// The table has no item, or the item shows an earlier visit than the change. If the change gives a
/// provisional place, that earlier visit must also be over for good.
pub(super) fn absent_or_earlier_visit(change: &Change, grace_seconds: u32) -> Expression {
    let mut values = visit_value(change.event.visit());
    let is_earlier = match change.event {
        Event::Entered { place, after } | Event::FastTracked { place, after, .. } => {
            let over = over_for_good(place, after, change.event.grace_seconds(grace_seconds));
            values.extend(over.values);
            format!("(#visit < :visit AND ({}))", over.text)
        }
        _ => "#visit < :visit".to_owned(),
    };
    Expression {
        text: format!("attribute_not_exists(#entry) OR {is_earlier}"),
        values,
    }
}

/// The visit that the item shows is over, and its visitor does not get the old place back. As in
/// [`resolve_provisional`](vestibule_domain::reconcile::resolve_provisional).
fn over_for_good(place: WaitScore, after: Option<Visit>, grace_seconds: u32) -> Expression {
    let mut values = HashMap::from([
        (":held".to_owned(), number(Step::Held.number())),
        (":is_over".to_owned(), number(true)),
    ]);
    let mut over = "#over = :is_over".to_owned();
    if grace_seconds > 0 {
        let grace_ms = u64::from(grace_seconds) * 1_000;
        let missed_before_ms = place.joined_at_ms().saturating_sub(grace_ms);
        values.insert(":ready".to_owned(), number(Step::Ready.number()));
        values.insert(":missed_before".to_owned(), number(missed_before_ms));
        over = format!("({over} AND (#step <> :ready OR #step_ms < :missed_before))");
    }
    let mut text = format!("#step >= :held OR {over}");
    if let Some(after) = after {
        values.insert(":after".to_owned(), number(after.number()));
        text += " OR #visit <= :after";
    }
    Expression { text, values }
}

/// The item knows no use but the one that a record of a later visit keeps of it, so that replacing the item loses none.
pub(super) fn no_use_but(kept: Option<EarlierUse>) -> Expression {
    let Some(kept) = kept else {
        return Expression {
            text: "attribute_not_exists(#use_id) AND attribute_not_exists(#earlier_use)".to_owned(),
            values: Item::new(),
        };
    };
    let values = HashMap::from([
        (":used_visit".to_owned(), number(kept.visit.number())),
        (
            ":used".to_owned(),
            AttributeValue::S(kept.consumption.use_id.to_string()),
        ),
        (":kept".to_owned(), AttributeValue::S(kept.to_string())),
    ]);
    Expression {
        text: "(#visit = :used_visit AND #use_id = :used) OR \
               (attribute_not_exists(#use_id) AND #earlier_use = :kept)"
            .to_owned(),
        values,
    }
}

/// The item shows this visit, at whatever step.
pub(super) fn same_visit(visit: Visit) -> Expression {
    Expression {
        text: "#visit = :visit".to_owned(),
        values: visit_value(visit),
    }
}

/// The table has no item.
pub(super) fn absent() -> Expression {
    Expression {
        text: "attribute_not_exists(#entry)".to_owned(),
        values: Item::new(),
    }
}

/// Both conditions hold.
pub(super) fn both(one: Expression, other: Expression) -> Expression {
    let mut values = one.values;
    values.extend(other.values);
    Expression {
        text: format!("({}) AND ({})", one.text, other.text),
        values,
    }
}

fn visit_value(visit: Visit) -> Item {
    HashMap::from([(":visit".to_owned(), number(visit.number()))])
}
