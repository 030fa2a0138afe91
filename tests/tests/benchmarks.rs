//! Each benchmark runs to its end at a small size and prints its figures. The values mean nothing here: what is compared is which
//! figures there are, and that each of them is a number.
//!
//! The benchmark is the one that the suites were built with, and so are the functions and the runner that it starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Command, Output},
};

use vestibule_tests::own_redis::OwnRedis;

/// The times of an attack, each also relative to that without an attack.
const ATTACK_TIMES: &str = "wait_mean_seconds enter_median_ms enter_p99_ms status_median_ms status_p99_ms claim_median_ms \
    claim_p99_ms validate_median_ms validate_p99_ms";

/// Runs a benchmark at a small size, on a Redis of its own, because it removes all that is there.
fn run(arguments: &[&str]) -> Output {
    let redis = OwnRedis::start();
    Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(arguments)
        .arg("--small")
        .env("TEST_REDIS_URL", redis.url())
        .output()
        .expect("the benchmark can be started")
}

/// The figures that a run prints. It must come to its end.
fn figures(arguments: &[&str]) -> BTreeMap<String, String> {
    let output = run(arguments);
    let printed = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {printed}{errors}");
    let figures = printed.lines().filter_map(|line| line.split_once('='));
    figures
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Runs a benchmark, which must print these figures and no others. All are numbers, but for those that `may_lack` allows.
fn expect_figures(arguments: &[&str], names: &str, may_lack: impl Fn(&str) -> bool) {
    let figures = figures(arguments);
    let expected: BTreeSet<_> = names.split_whitespace().collect();
    let printed: BTreeSet<_> = figures.keys().map(String::as_str).collect();
    assert_eq!(printed, expected, "{arguments:?}");
    for (name, value) in &figures {
        let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
        assert!(is_number || may_lack(name), "{arguments:?}: {name}={value}");
    }
}

fn expect_numbers(arguments: &[&str], names: &str) {
    expect_figures(arguments, names, |_| false);
}

#[test]
fn attack_prints_its_figures() {
    let mut names = Vec::new();
    for crowd in [
        "without_attack",
        "polling_fakes",
        "without_attack_with_tickets",
        "polling_fakes_with_tickets",
    ] {
        let counts = "attacker_rps attacker_refused served unserved unserved_in_line promotions promotions_by_pace \
            failed_validates honest_refused wait_in_promotions_max";
        for name in counts.split_whitespace().chain(ATTACK_TIMES.split_whitespace()) {
            names.push(format!("{crowd}_{name}"));
        }
        if !crowd.starts_with("without") {
            let times = ATTACK_TIMES.split_whitespace();
            names.extend(times.map(|name| format!("{crowd}_{name}_vs_without")));
        }
    }
    expect_numbers(&["attack"], &names.join(" "));
}

#[test]
fn cold_prints_its_figures() {
    expect_numbers(
        &["cold"],
        "init_ms init_vs_empty first_call_ms peak_rss_mb peak_rss_vs_empty zip_mb",
    );
}

#[test]
fn crowd_prints_its_figures() {
    let names = "clients served left vanished came_back missed_turns overtaken_turns lost_turns \
        promotion_to_claim_median_ms promotion_to_claim_p99_ms origin_calls_per_visitor origin_calls_vs_sent \
        origin_document_reads origin_peak_rps document_reads_per_visitor polls_per_visitor failed_calls held_max \
        positions_risen documents_older_than_answer position_samples position_error_mean position_error_mean_relative \
        shown_position_samples shown_position_error_mean shown_position_error_mean_relative estimates estimates_unknown \
        estimate_coverage_80 estimate_coverage_80_of_answers estimate_mean_relative_width_of_answers \
        estimate_coverage_80_of_documents estimate_mean_relative_width_of_documents estimate_mean_relative_error wall_s";
    let of_both = names
        .split_whitespace()
        .flat_map(|name| [name.to_owned(), format!("{name}_with_returns")]);
    let of_both: Vec<_> = of_both.collect();
    // The first 500 in line are called, so a small crowd reads no document.
    expect_figures(&["crowd"], &of_both.join(" "), |name| {
        name.contains("position_error") || name.contains("_of_documents")
    });
}

#[test]
fn fair_prints_its_figures() {
    expect_numbers(
        &["fair"],
        "entrants entries pairs inversions tau draws chi_square p priority_visitors promotions lane_share_asked_percent \
         lane_share_had_percent lane_share_had_vs_asked batch deviation_entries",
    );
}

#[test]
fn fallback_ticks_prints_its_figures() {
    expect_numbers(
        &["fallback-ticks"],
        "promoted_per_second_by_promoter promoted_per_second_by_calls calls_vs_promoter ticks_per_second_by_calls \
         overshoot",
    );
}

#[test]
fn line_prints_its_figures() {
    expect_numbers(
        &["line"],
        "zadd_rps enter_vs_zadd seed_layout_vs_zadd bytes_per_waiting_entry status_vs_zrank check_in_vs_zrank \
         shared_view_vs_new_view promote_1000_ms ping_worst_ms_during_promote_1000 ping_worst_ms_beside_tick \
         ping_worst_ms_beside_tick_with_1000_absent ping_worst_absent_ratio http_enter_rps http_status_rps",
    );
}

#[test]
fn queues_prints_its_figures() {
    expect_numbers(
        &["queues"],
        "idle_queues idle_core_share_ticked_every_second idle_core_share idle_core_share_ratio busy_queues \
         busy_round_seconds_median busy_round_seconds_worst busy_ticks_per_second_least busy_core_share",
    );
}

#[test]
fn requests_prints_its_figures() {
    let mut names = vec![
        "empty_cpu_ms poll_redis_cpu_us sale_requests_per_visitor limit_measured_per_second \
        limit_planned_per_second limit_planned_vs_measured"
            .to_owned(),
    ];
    for request in ["enter", "poll", "document", "claim", "validate", "complete"] {
        names.push(format!("{request}_cpu_ms {request}_vs_empty"));
    }
    for step in ["enter", "poll", "called_poll", "claim", "validate", "complete"] {
        names.push(format!("{step}_vs_poll {step}_vs_poll_planned"));
    }
    expect_numbers(&["requests"], &names.join(" "));
}

#[test]
fn restore_prints_its_figures() {
    expect_numbers(
        &["restore"],
        "table_read_s redis_restore_s redis_restore_vs_zadd flush_to_first_promotion_s restore_cpu_s \
         restore_peak_rss_mb",
    );
}

#[test]
fn wake_prints_its_figures() {
    expect_numbers(
        &["wake"],
        "wake_p99_ms_10_held redis_calls_per_tick_10_held wake_p99_ms_100_held redis_calls_per_tick_100_held \
         wake_p99_ms_10_at_once floor_p99_ms_10_at_once wake_vs_floor_10_at_once polling_500ms_p99_ms_10 \
         redis_calls_per_second_polling_500ms_10 polling_500ms_p99_ms_100 redis_calls_per_second_polling_500ms_100",
    );
}

/// The earlier build is the same one, so what chance does not change is the same.
#[test]
fn a_comparison_prints_the_ratio_of_each_figure() {
    let build = env!("CARGO_BIN_EXE_bench");
    let ratios = figures(&["fair", "--rounds", "2", "--against", build]);
    for name in [
        "entries_vs_old",
        "tau_vs_old",
        "chi_square_vs_old",
        "promotions_vs_old",
    ] {
        assert_eq!(
            ratios.get(name).map(String::as_str),
            Some("1.000"),
            "{name} in {ratios:?}"
        );
    }
    assert!(ratios.keys().all(|name| name.ends_with("_vs_old")), "{ratios:?}");
}

#[test]
fn an_earlier_build_without_its_programs_is_refused() {
    let output = run(&["line", "--against", "/nowhere/bench"]);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(!output.status.success(), "{errors}");
    assert!(errors.contains("/nowhere/vestibule-local is missing"), "{errors}");
}
