//! What must hold in the state of a line at any time.

use std::collections::BTreeSet;

use vestibule_domain::{id::EntryId, lane::LANE_PLACES};

use super::dump::Dump;

/// `visits` holds exactly the entries that are ready, active or waiting again, those whose slot is held, and those that wait
/// at a drawn place or in a lane to which an operator moved them, with a step that fits their sets.
pub(super) fn require_consistent_visits(snapshot: &Dump) -> Result<(), String> {
    let ids = |set: &[(EntryId, u64)]| set.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>();
    let with_steps = |steps: &[&str]| {
        let visits = snapshot.visits.iter();
        let has_step = |text: &str| steps.contains(&text.split(' ').nth(1).unwrap_or_default());
        let fitting = visits.filter(|(_, text)| has_step(text));
        fitting.map(|(id, _)| *id).collect::<BTreeSet<_>>()
    };
    let (ready, active, again) = (
        with_steps(&["1", "3"]),
        with_steps(&["4"]),
        with_steps(&["0", "2"]),
    );
    let held = with_steps(&["5"]);
    let is_consistent = ready == ids(&snapshot.ready)
        && active == ids(&snapshot.active)
        && held == ids(&snapshot.held)
        && again.is_subset(&ids(&snapshot.waiting))
        && ready.len() + active.len() + held.len() + again.len() == snapshot.visits.len();
    if is_consistent {
        Ok(())
    } else {
        Err(format!("the visits do not fit the sets: {snapshot:?}"))
    }
}

/// The entries that were passed over and are not present, while presence is on.
pub(super) fn find_absent(snapshot: &Dump) -> BTreeSet<&(EntryId, u64)> {
    if !snapshot.presence.contains_key("presence") {
        return BTreeSet::new();
    }
    let lanes = read_lanes(snapshot);
    let present: BTreeSet<_> = snapshot.present.iter().collect();
    let waiting: BTreeSet<_> = snapshot.waiting.iter().collect();
    let passed = waiting.difference(&present).filter(|(_, place)| {
        let own = |lane: &&Vec<u64>| lane[1] / LANE_PLACES == place / LANE_PLACES;
        lanes.iter().find(own).is_some_and(|lane| *place <= lane[1])
    });
    passed.copied().collect()
}

/// The numbers of each lane.
fn read_lanes(snapshot: &Dump) -> Vec<Vec<u64>> {
    let lanes = snapshot.lanes.iter();
    let numbers = |text: &str| text.split(' ').filter_map(|number| number.parse().ok()).collect();
    lanes.map(|(_, text)| numbers(text)).collect()
}

/// Each lane counts its absent entries. Each present entry waits.
pub(super) fn require_counted_absent(snapshot: &Dump) -> Result<(), String> {
    let lanes = read_lanes(snapshot);
    let absent: u64 = lanes.iter().map(|lane| lane[lane.len() - 1]).sum();
    let expected = find_absent(snapshot).len() as u64;
    let are_waiting = snapshot
        .present
        .iter()
        .all(|entry| snapshot.waiting.contains(entry));
    if absent == expected && are_waiting {
        Ok(())
    } else {
        Err(format!(
            "{absent} entries count as absent, and {expected} are: {snapshot:?}"
        ))
    }
}

/// The totals of the state that count ends, one for each way of ending.
pub(super) const ENDS: [&str; 8] = [
    "no_shows",
    "completed",
    "left",
    "evicted",
    "expired",
    "absences",
    "overlong_waits",
    "dismissed",
];

/// Each visit that began or went on is in a set, or was counted when it ended. No total counts the `uncounted` entries of the
/// last restore.
pub(super) fn require_conservation(snapshot: &Dump, uncounted: usize) -> Result<(), String> {
    let total = |name: &str| snapshot.state.get(name).copied().unwrap_or_default();
    let sum = |names: &[&str]| names.iter().map(|name| total(name)).sum::<i64>();
    let sets = [&snapshot.waiting, &snapshot.ready, &snapshot.active];
    let in_sets: usize = sets.iter().map(|set| set.len()).sum();
    let begun = sum(&["entered", "returned"]);
    let ended = sum(&ENDS);
    let restored = i64::try_from(uncounted).map_err(|error| error.to_string())?;
    if usize::try_from(begun - ended + restored) == Ok(in_sets) {
        Ok(())
    } else {
        Err(format!(
            "{begun} visits began, {uncounted} were restored, {ended} ended and {in_sets} go on: {snapshot:?}"
        ))
    }
}
