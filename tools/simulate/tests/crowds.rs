//! Runs small crowds in a deployment with ceilings, and checks the promises to their visitors.

use vestibule_domain::settings::Settings;
use vestibule_simulate::{
    crowd_figures::CrowdFigures,
    crowd_plan::CrowdPlan,
    crowd_scenarios::{CROWD_NAMES, CrowdParameters, crowd_by_name},
    scenario::Scenario,
    simulation::{Clients, run_scenario},
};
use vestibule_sizing::ceilings::{Ceilings, Function};
use vestibule_sizing::load::CrowdLoad;

const VISITORS: u32 = 20_000;
/// Entry polls per second that a slot answers which carries this crowd, if its clients follow the public document.
const CEILING: u32 = 600;
/// A slot that carries a crowd which is through in minutes.
const BRISK_CEILING: u32 = 2_900;
/// A slot that carries no more than those who follow the document.
const LOW_CEILING: u32 = 300;

fn scenario(name: &str, ceiling: u32, checks: u32) -> Scenario {
    crowd_by_name(name, crowd(ceiling, checks)).expect("the scenario exists")
}

fn crowd(slot_polls_per_second: u32, checks: u32) -> CrowdParameters {
    CrowdParameters {
        visitors: VISITORS,
        seed: 3,
        slot_polls_per_second,
        checks,
        wait_seconds: 1_800,
    }
}

/// Runs a scenario with clients that follow the public document.
fn run(name: &str, checks: u32) -> CrowdFigures {
    CrowdFigures::from_outcome(&run_scenario(
        &scenario(name, CEILING, checks),
        Clients::Following,
    ))
}

/// Runs a scenario and checks what every scenario promises in which requests arrive.
fn run_safely(name: &str, checks: u32) -> CrowdFigures {
    expect_safe(name, run(name, checks))
}

fn expect_safe(name: &str, figures: CrowdFigures) -> CrowdFigures {
    let violations = (
        figures.run.lost_turns,
        figures.run.overshoot,
        figures.run.out_of_order,
    );
    assert_eq!(violations, (0, 0, 0), "{name}: {figures:?}");
    assert_eq!(
        figures.unserved, 0,
        "{name}: visitors had no turn although they waited"
    );
    figures
}

#[test]
fn clients_that_follow_the_document_spare_the_line() {
    let figures = run_safely("crowd", 0);
    assert_eq!(figures.traffic.throttled_total(), 0);
    assert_eq!(figures.passed_over_present, 0);
    assert!(figures.calls_per_visitor < 12.0, "{figures:?}");
    assert!(
        (10.0..60.0).contains(&figures.document_reads_per_visitor),
        "{figures:?}"
    );
    let reads = figures.document_reads_per_visitor * f64::from(VISITORS);
    let origin_reads = f64::from(u32::try_from(figures.traffic.origin_reads).expect("few"));
    assert!(origin_reads > 1_000.0, "{origin_reads}");
    assert!(reads > 100.0 * origin_reads, "the CDN answers: {reads}");
    assert!(figures.traffic.origin_peak < CEILING.into(), "{figures:?}");

    let paced = run_scenario(&scenario("crowd", 1_000_000, 0), Clients::Paced);
    let paced = CrowdFigures::from_outcome(&paced);
    assert!(
        paced.calls_per_visitor > 3.0 * figures.calls_per_visitor,
        "{paced:?}"
    );
    assert!(paced.traffic.origin_reads == 0 && paced.document_reads_per_visitor < 0.1);
}

/// A plan counts the reads of the document as the simulation does. The plan lets every visitor wait to the end, and here one
/// in eight vanishes or leaves. Of the requests it counts more than a small crowd sends, whose last polls are held.
#[test]
fn a_plan_counts_what_the_simulated_clients_send() {
    let settings = Settings::default();
    let plan = CrowdPlan::for_crowd(VISITORS, &Ceilings::with_slot(CEILING), 0, 1_800, &settings);
    let load = CrowdLoad {
        visitors: VISITORS.into(),
        checks: 0,
        settings: &settings,
        entering_per_second: f64::from(VISITORS) / plan.arrives_in_seconds,
    };
    let figures = run("crowd", 0);
    let reads = load.document_reads_per_visitor(plan.per_second);
    let requests = 2.0 + load.status_requests_per_visitor(plan.per_second);
    let share = figures.document_reads_per_visitor / reads;
    assert!((0.8..1.1).contains(&share), "planned {reads}: {figures:?}");
    assert!(
        figures.calls_per_visitor < requests,
        "planned {requests}: {figures:?}"
    );
}

/// The control: the ceilings are there, and overload costs turns.
#[test]
fn clients_without_the_document_overload_a_slow_slot() {
    let scenario = scenario("crowd", LOW_CEILING, 0);
    let following = CrowdFigures::from_outcome(&run_scenario(&scenario, Clients::Following));
    let paced = CrowdFigures::from_outcome(&run_scenario(&scenario, Clients::Paced));
    assert_eq!(following.run.lost_turns, 0, "{following:?}");
    assert!(
        paced.traffic.overloaded > u64::from(VISITORS),
        "{} requests were answered without the line",
        paced.traffic.overloaded
    );
    assert!(paced.lost_places > u64::from(VISITORS) / 50, "{paced:?}");
    assert_eq!(paced.run.overshoot, 0);
}

/// The control: a function without room refuses requests, and their clients come back.
#[test]
fn refused_requests_to_enter_are_repeated() {
    let mut scenario = scenario("rush", 40_000, 0);
    let ceilings = Ceilings::with_slot(40_000).with_concurrency(Function::Enter, 10);
    scenario.deployment.ceilings = Some(ceilings);
    let outcome = run_scenario(&scenario, Clients::Following);
    let figures = CrowdFigures::from_outcome(&outcome);
    let throttled = figures.traffic.throttled[Function::Enter as usize];
    assert!(throttled > u64::from(VISITORS), "{throttled}");
    assert_eq!((figures.run.lost_turns, figures.unserved), (0, 0), "{figures:?}");
}

/// Entering is limited to what the slot carries beside the others.
#[test]
fn a_rush_costs_no_turn() {
    let figures = run_safely("rush", 0);
    assert!(figures.traffic.throttled[Function::Enter as usize] > u64::from(VISITORS));
}

#[test]
fn the_protected_service_validates_each_active_visitor() {
    let (without, with) = (run_safely("crowd", 0), run_safely("crowd", 6));
    let checks = with.service_calls_per_visitor - without.service_calls_per_visitor;
    // Nine in ten visitors become active: the others leave or vanish.
    assert!((4.8..6.0).contains(&checks), "{checks}");
}

#[test]
fn clients_renew_short_passes() {
    let long = scenario("crowd", CEILING, 0);
    let short = Scenario {
        settings: Settings {
            pass_seconds: 60,
            ..long.settings.clone()
        },
        ..long.clone()
    };
    let calls = |scenario: &Scenario| {
        CrowdFigures::from_outcome(&run_scenario(scenario, Clients::Following)).calls_per_visitor
    };
    // A stay of two minutes has two or three times 40 s.
    let renewals = calls(&short) - calls(&long);
    assert!((1.5..3.0).contains(&renewals), "{renewals}");
}

#[test]
fn visitors_who_sleep_through_their_turn_keep_their_place() {
    let figures = run_safely("sleepers", 0);
    let sleepers = u64::from(VISITORS) / 5;
    assert!(figures.returned > sleepers / 2, "{figures:?}");
    assert!(
        figures.overslept < sleepers / 5,
        "the turn of a visitor who checked in and then fell asleep is lost: {figures:?}"
    );
}

#[test]
fn fakes_that_never_poll_cost_no_turn() {
    let (without, with) = (run_safely("crowd", 0), run_safely("fakes", 0));
    assert!(
        with.run.wait_mean_seconds < without.run.wait_mean_seconds,
        "{with:?}"
    );
    let fakes = f64::from(VISITORS) * 0.3;
    assert!(with.run.no_shows < fakes / 20.0, "fakes were promoted: {with:?}");
}

#[test]
fn a_tenfold_rate_costs_no_turn() {
    let figures = run_safely("jump", 0);
    // One refresh of the document, and the time that the CDN and a request take.
    assert!(figures.passed_over_present_delay_p99_ms <= 71_000, "{figures:?}");
}

#[test]
fn old_copies_cost_no_turn() {
    let figures = run_safely("old-copies", 0);
    assert!(figures.passed_over_present_delay_p99_ms <= 71_000, "{figures:?}");
}

#[test]
fn after_an_outage_of_the_front_door_clients_come_back() {
    let figures = run_safely("front-door", 0);
    assert!((1_000..=60_000).contains(&figures.return_ms_max), "{figures:?}");
}

/// Of visitors who need a slot for some seconds, pace and slots are about as scarce. The widths were fitted to other crowds.
#[test]
fn estimates_hold_where_slots_turn_over_within_seconds() {
    let brisk = CrowdParameters {
        visitors: 10_000,
        ..crowd(BRISK_CEILING, 0)
    };
    let brisk = crowd_by_name("brisk", brisk).expect("the scenario exists");
    let outcome = run_scenario(&brisk, Clients::Following);
    let figures = expect_safe("brisk", CrowdFigures::from_outcome(&outcome));
    for estimates in [figures.estimates, figures.document_estimates] {
        assert!(estimates.shown > 1_000, "{estimates:?}");
        let (coverage, width) = (estimates.coverage(), estimates.mean_width());
        assert!(
            coverage >= 0.85 && width < 0.4,
            "{coverage} by a width of {width}"
        );
    }
}

#[test]
fn each_name_has_a_crowd() {
    for name in CROWD_NAMES {
        assert_eq!(scenario(name, CEILING, 0).name, name);
    }
    assert!(crowd_by_name("flash", crowd(CEILING, 0)).is_none());
}
