//! The printed tables: a row for each scenario and kind of clients, the accuracy of the estimates, and the figures as
//! `name=value` lines.

use std::fmt::Write as _;

use crate::{
    estimate_accuracy::{AccuracySums, WAIT_BOUNDS_SECONDS},
    run_figures::{RunFigures, mean},
    scenario_runs::{RunSummary, ScenarioRuns},
};

/// Formats all tables. A single scenario also gets its time series.
pub fn format_tables(all: &[ScenarioRuns]) -> String {
    let mut text =
        format_figures(all) + "\n" + &format_estimates(all) + "\n" + &format_seed_spread(all) + "\n";
    if let [one] = all {
        text += &one.time_series().format_rows();
        text += "\n";
    }
    text + &format_totals(all)
}

/// A row for each scenario and kind of clients, over all seeds.
fn format_figures(all: &[ScenarioRuns]) -> String {
    let mut rows = format!(
        "{:<10} {:<9} {:>9} {:>8} {:>8} {:>8} {:>6} {:>10} {:>8} {:>8} {:>7} {:>9} {:>9}\n",
        "scenario",
        "clients",
        "visitors",
        "wait_s",
        "max_s",
        "polls",
        "p99",
        "polls_30m",
        "held_s",
        "held_max",
        "lost",
        "no_shows",
        "overshoot"
    );
    for scenario_runs in all {
        let scenario = &scenario_runs.scenario;
        for (clients, runs) in [
            ("paced", &scenario_runs.paced),
            ("fixed-3s", &scenario_runs.fixed),
        ] {
            let figures = combine(runs);
            let half_hour = figures
                .polls_half_hour
                .map_or("-".to_owned(), |polls| format!("{polls:.1}"));
            let _ = writeln!(
                rows,
                "{:<10} {clients:<9} {:>9} {:>8.0} {:>8.0} {:>8.1} {:>6.0} {half_hour:>10} {:>8.2} {:>8} {:>7} {:>9.0} {:>9}",
                scenario.name,
                scenario.visitors,
                figures.wait_mean_seconds,
                figures.wait_max_seconds,
                figures.polls_mean,
                figures.polls_p99,
                figures.held_seconds,
                figures.held_max,
                figures.lost_turns,
                figures.no_shows,
                figures.overshoot,
            );
        }
    }
    rows
}

/// The accuracy of the estimates by the length of the wait, over all seeds.
fn format_estimates(all: &[ScenarioRuns]) -> String {
    let mut rows = format!(
        "{:<10} {:<12} {:>10} {:>8} {:>9} {:>9} {:>8} {:>8}\n",
        "scenario", "wait", "shown", "unknown", "coverage", "sooner", "error", "width"
    );
    for runs in all {
        let estimates = runs.estimates();
        let mut from = 0;
        for (to, sums) in WAIT_BOUNDS_SECONDS.into_iter().zip(&estimates) {
            let wait = if to == u64::MAX {
                format!("{from}s and more")
            } else {
                format!("{from}-{to}s")
            };
            rows += &format_estimates_row(runs.scenario.name, &wait, sums);
            from = to;
        }
        rows += &format_estimates_row(runs.scenario.name, "all", &AccuracySums::total(&estimates));
    }
    rows
}

#[allow(clippy::cast_precision_loss)]
fn format_estimates_row(name: &str, wait: &str, sums: &AccuracySums) -> String {
    if sums.shown + sums.unknown == 0 {
        return String::new();
    }
    format!(
        "{name:<10} {wait:<12} {:>10} {:>8.3} {:>9.3} {:>9.3} {:>8.3} {:>8.3}\n",
        sums.shown,
        sums.unknown_share(),
        sums.coverage(),
        sums.sooner as f64 / sums.shown.max(1) as f64,
        sums.mean_error(),
        sums.mean_width(),
    )
}

/// How the accuracy differs from seed to seed: the means over the seeds, and the lowest and highest coverage of
/// a seed.
fn format_seed_spread(all: &[ScenarioRuns]) -> String {
    let mut rows = format!(
        "{:<10} {:>6} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9}\n",
        "scenario", "seeds", "coverage", "lowest", "highest", "error", "width", "unknown"
    );
    for runs in all {
        let by_seed: Vec<AccuracySums> = runs
            .paced
            .iter()
            .map(|run| AccuracySums::total(&run.estimates))
            .collect();
        let means = |of: fn(&AccuracySums) -> f64| mean(by_seed.iter().map(of)).unwrap_or(0.0);
        let coverages = || by_seed.iter().map(AccuracySums::coverage);
        let _ = writeln!(
            rows,
            "{:<10} {:>6} {:>9.3} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>9.3}",
            runs.scenario.name,
            by_seed.len(),
            means(AccuracySums::coverage),
            coverages().fold(1.0, f64::min),
            coverages().fold(0.0, f64::max),
            means(AccuracySums::mean_error),
            means(AccuracySums::mean_width),
            means(AccuracySums::unknown_share),
        );
    }
    rows
}

/// The figures over all scenarios and seeds. The polls are those of the scenario with the most.
fn format_totals(all: &[ScenarioRuns]) -> String {
    let each = |of: fn(&ScenarioRuns) -> &[RunSummary]| -> Vec<RunFigures> {
        all.iter().map(|runs| combine(of(runs))).collect()
    };
    let (paced, fixed) = (each(|runs| &runs.paced), each(|runs| &runs.fixed));
    let half_hour = |of: &[RunFigures]| {
        let polls = of.iter().filter_map(|figures| figures.polls_half_hour);
        polls.fold(f64::NAN, f64::max)
    };
    let (all_paced, all_fixed) = (RunFigures::combine(&paced), RunFigures::combine(&fixed));
    let estimates: Vec<AccuracySums> = all.iter().flat_map(ScenarioRuns::estimates).collect();
    let estimates = AccuracySums::total(&estimates);
    [
        format!("polls_per_visitor_30min={:.1}\n", half_hour(&paced)),
        format!("polls_per_visitor_30min_max={}\n", all_paced.polls_half_hour_max),
        format!("polls_per_visitor_30min_fixed_3s={:.1}\n", half_hour(&fixed)),
        format!("lost_turns={}\n", all_paced.lost_turns),
        format!("overshoot={}\n", all_paced.overshoot + all_fixed.overshoot),
        format!(
            "out_of_order={}\n",
            all_paced.out_of_order + all_fixed.out_of_order
        ),
        format!("estimate_coverage_80={:.3}\n", estimates.coverage()),
        format!("estimate_mean_relative_error={:.3}\n", estimates.mean_error()),
        format!("held_max={}\n", all_paced.held_max),
    ]
    .concat()
}

fn combine(runs: &[RunSummary]) -> RunFigures {
    let figures: Vec<RunFigures> = runs.iter().map(|run| run.figures).collect();
    RunFigures::combine(&figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scenario::Scenario, scenario_runs::run_all};

    /// The cells of the row that starts with these cells.
    fn row<'a>(text: &'a str, start: &[&str]) -> Vec<&'a str> {
        let mut rows = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.find(|cells| cells.starts_with(start))
            .expect("the table has the row")
    }

    #[test]
    fn every_table_covers_all_seeds() {
        let scenario = Scenario::by_name("flash", 200, 1).expect("the scenario exists");
        let mut runs = run_all(vec![scenario], 2).remove(0);
        let sums = |inside| AccuracySums {
            shown: 10,
            unknown: 10,
            inside,
            sooner: 0,
            errors: 1.0,
            widths: 5.0,
        };
        for (run, (inside, number)) in runs.paced.iter_mut().zip([(5, 3), (9, 4)]) {
            run.estimates = Default::default();
            run.estimates[1] = sums(inside);
            (run.figures.lost_turns, run.figures.held_max) = (number, number);
            run.figures.wait_mean_seconds = 100.0;
        }
        runs.paced[1].figures.wait_mean_seconds = 200.0;
        let text = format_tables(&[runs]);

        let figures = row(&text, &["flash", "paced", "200"]);
        assert_eq!((figures[3], figures[9], figures[10]), ("150", "4", "7"), "{text}");
        let by_wait = row(&text, &["flash", "10-60s"]);
        assert_eq!(by_wait[2..5], ["20", "0.500", "0.700"], "{text}");
        let by_seed = row(&text, &["flash", "2"]);
        assert_eq!(
            by_seed[2..],
            ["0.700", "0.500", "0.900", "0.100", "0.500", "0.500"],
            "{text}"
        );
        for total in [
            "lost_turns=7",
            "overshoot=0",
            "out_of_order=0",
            "estimate_coverage_80=0.700",
            "held_max=4",
        ] {
            assert!(text.lines().any(|line| line == total), "{total}: {text}");
        }
    }
}
