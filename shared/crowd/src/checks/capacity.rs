//! Whether the line kept its capacity: how many visitors held a slot at the same time.

use crate::record::VisitRecord;

/// The most slots that visitors held at once for certain. Their clocks are the one of this machine.
pub fn most_slots_at_once(records: &[VisitRecord]) -> u64 {
    let held = records.iter().filter_map(|record| record.slot_ms);
    let mut changes: Vec<(f64, i64)> = held
        .flat_map(|(from_ms, until_ms)| [(from_ms, 1), (until_ms, -1)])
        .collect();
    // A slot that one gives up can be another's at the same moment.
    changes.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (mut held, mut most) = (0_i64, 0);
    for (_, change) in changes {
        held += change;
        most = most.max(held);
    }
    u64::try_from(most).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temper::ConductKind;

    #[test]
    fn a_slot_that_is_given_up_may_be_taken_at_once() {
        let record = |from_ms, until_ms| VisitRecord {
            slot_ms: Some((from_ms, until_ms)),
            ..VisitRecord::new(ConductKind::Honest, 0.0)
        };
        let records = [record(0.0, 10.0), record(5.0, 20.0), record(10.0, f64::INFINITY)];
        assert_eq!(most_slots_at_once(&records), 2);
        assert_eq!(most_slots_at_once(&[]), 0);
    }
}
