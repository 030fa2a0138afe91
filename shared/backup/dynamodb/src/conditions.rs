//! The conditions under which a change is written. They express [`EntryRecord::outlasts`] and
//! [`EntryRecord::come_back`] in DynamoDB's condition language.

use std::collections::HashMap;

use vestibule_domain::{
    change::{Change, EndReason, Event},
    record::EntryRecord,
    state::EntryState,
};

use super::entry_items::{
    CAME_BACK_AT_MS, CLAIMED_AT_MS, ENDED_AT_MS, EXPIRES_AT_MS, Expression, Item, SCORE, number, statuses,
};

/// The item is older than the change.
const IS_OLDER: &str = "(#epoch < :epoch OR (#epoch = :epoch AND #v < :v))";

/// The condition for a change that begins a visit. It holds if the table has no item, or if the
/// item is older than the change and shows no other live visit. There are three exceptions:
///
/// - The item already shows a return to this very place, and so holds more than the change does.
/// - The item shows the end of this very place: the line that made the change had lost that end.
/// - With a grace, the item shows a missed turn whose visitor may still get the old place back. The
///   caller decides that from the record.
pub(super) fn no_live_visit(change: &Change, grace_seconds: u32) -> Expression {
    let mut values = visit_values(change);
    values.extend(statuses(|state| !state.is_live() || state == EntryState::Waiting));
    let is_no_missed_turn = match change.event {
        Event::Entered { score } if grace_seconds > 0 => {
            let grace_ms = u64::from(grace_seconds) * 1_000;
            let since_ms = score.joined_at_ms().saturating_sub(grace_ms);
            values.insert(":missed_since".to_owned(), number(since_ms));
            format!(
                " AND (#status <> :expired OR attribute_exists(#{CLAIMED_AT_MS}) \
                 OR attribute_exists(#{CAME_BACK_AT_MS}) OR #{ENDED_AT_MS} < :missed_since)"
            )
        }
        _ => String::new(),
    };
    // As in `EntryRecord::is_end_of_place`: a line that lost an end gives the same place again.
    let place = change
        .event
        .place()
        .map_or((0, 0), |score| (score.raw(), score.joined_at_ms()));
    values.insert(":place".to_owned(), number(place.0));
    values.insert(":joined".to_owned(), number(place.1));
    let is_no_lost_end = format!(
        " AND (#status = :waiting OR (attribute_exists(#{SCORE}) AND #{SCORE} <> :place) OR \
         (attribute_not_exists(#{SCORE}) AND (#visit <> :visit OR #{ENDED_AT_MS} <= :joined)))"
    );
    Expression {
        text: format!(
            "attribute_not_exists(#entry) OR ({IS_OLDER} AND (#status IN (:completed, :left, :expired) \
             OR (#visit = :visit AND #status = :waiting)) \
             AND (#visit <> :visit OR attribute_not_exists(#{CAME_BACK_AT_MS})){is_no_lost_end}{is_no_missed_turn})"
        ),
        values,
    }
}

/// The condition for a change to the visit that the item shows: the visit is in a state that the
/// change may follow.
pub(super) fn same_visit_before(change: &Change) -> Expression {
    let mut values = visit_values(change);
    let before: Vec<_> = statuses(|state| !change.event.is_before_state(state)).collect();
    let names: Vec<_> = before.iter().map(|(name, _)| name.as_str()).collect();
    let text = format!(
        "#visit = :visit AND {IS_OLDER} AND #status IN ({})",
        names.join(", ")
    );
    values.extend(before);
    // As in `EntryRecord::lasts_longer`. The values are those that the change sets.
    let lasts_no_longer = match change.event {
        Event::Ended {
            how: EndReason::Expired,
            ..
        } => format!(
            " AND (#status <> :active OR attribute_not_exists(#{EXPIRES_AT_MS}) \
             OR #{EXPIRES_AT_MS} <= :{ENDED_AT_MS})"
        ),
        Event::Ended {
            how: EndReason::NoShow,
            ..
        } => format!(
            " AND ((#status = :waiting AND attribute_not_exists(#{CAME_BACK_AT_MS})) OR (#status <> :waiting \
             AND (attribute_not_exists(#{EXPIRES_AT_MS}) OR #{EXPIRES_AT_MS} <= :{ENDED_AT_MS})))"
        ),
        Event::Claimed { .. } | Event::Extended { .. } => format!(
            " AND (#status <> :active OR attribute_not_exists(#{EXPIRES_AT_MS}) \
             OR #{EXPIRES_AT_MS} <= :{EXPIRES_AT_MS})"
        ),
        _ => String::new(),
    };
    let text = text + &lasts_no_longer;
    Expression { text, values }
}

/// Optimistic concurrency: the item is unchanged since it was read, or still absent.
pub(super) fn unchanged_since_read(stored: Option<&EntryRecord>) -> Expression {
    match stored {
        None => Expression {
            text: "attribute_not_exists(#entry)".to_owned(),
            values: Item::new(),
        },
        Some(record) => Expression {
            text: "#epoch = :epoch AND #v = :v".to_owned(),
            values: HashMap::from([
                (":epoch".to_owned(), number(record.version.epoch)),
                (":v".to_owned(), number(record.version.v)),
            ]),
        },
    }
}

/// The item shows the visit of the change, however old the change is.
pub(super) fn same_visit(change: &Change) -> Expression {
    let visit = number(change.event.visit().number());
    Expression {
        text: "#visit = :visit".to_owned(),
        values: HashMap::from([(":visit".to_owned(), visit)]),
    }
}

fn visit_values(change: &Change) -> Item {
    HashMap::from([
        (":epoch".to_owned(), number(change.version.epoch)),
        (":v".to_owned(), number(change.version.v)),
        (":visit".to_owned(), number(change.event.visit().number())),
    ])
}
