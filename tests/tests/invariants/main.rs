//! The promise of [`pacing`](vestibule_domain::pacing), simulated: a visitor who keeps to `retry_after_ms` never loses
//! a turn, whatever operators do to the queue meanwhile.

mod simulation;

use vestibule_line::QueueLine;

use self::simulation::{Manner, Simulation, VISITORS};

/// How many days at the line are simulated, each another one.
const SEEDS: u64 = 12;

#[tokio::test]
async fn a_visitor_who_keeps_to_retry_after_never_loses_a_turn() {
    let (mut polls, mut changes, mut longest_ms) = (0, 0, 0);
    for seed in 1..=SEEDS {
        let mut simulation = Simulation::new(Manner::KeepsToIt, seed).await;
        simulation.run().await;
        assert_eq!(simulation.lost, 0, "seed {seed}");
        assert_eq!(simulation.done, VISITORS, "seed {seed}: everybody is served");
        assert!(
            simulation.admitted == simulation.entered,
            "seed {seed}: everybody is let in, in the order of entering"
        );
        let view = simulation.line.queue_view(&simulation.queue).await.expect("view");
        assert_eq!((view.totals.no_shows, view.totals.expired), (0, 0), "seed {seed}");
        polls += simulation.polls;
        changes += simulation.changes;
        longest_ms = longest_ms.max(simulation.slept_ms_max);
    }
    println!("{polls} polls, {changes} changes of settings, at most {longest_ms} ms between polls");
    assert!(
        polls > SEEDS * VISITORS && changes > SEEDS * 15 && longest_ms >= 40_000,
        "nothing much happened"
    );
}

/// Shows that the simulation can tell: who comes back when it suits them does lose turns.
#[tokio::test]
async fn a_visitor_who_comes_back_later_than_told_does_lose_turns() {
    let mut simulation = Simulation::new(Manner::ComesTooLate, 1).await;
    simulation.run().await;
    assert!(simulation.lost > VISITORS / 200, "only {} lost", simulation.lost);
    assert_eq!(simulation.done + simulation.lost, VISITORS);
}
