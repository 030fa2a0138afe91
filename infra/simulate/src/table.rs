//! What is printed of all runs: a row for each crowd, how the estimates held, and the closing `name=value` lines.

use std::fmt::Write as _;

use crate::{
    figures::{Figures, mean},
    series::{Run, Series},
    told::{Held, WAITS_SECONDS, together},
};

/// Everything that is printed.
pub fn print(all: &[Series]) -> String {
    let mut text = crowds(all) + "\n" + &estimates(all) + "\n" + &draws(all) + "\n";
    if let [one] = all {
        text += &one.course().rows();
        text += "\n";
    }
    text + &closing(all)
}

/// A row for each crowd, over all seeds.
fn crowds(all: &[Series]) -> String {
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
    for series in all {
        for (clients, runs) in [("paced", &series.paced), ("fixed-3s", &series.fixed)] {
            let figures = over(runs);
            let half_hour = figures
                .polls_half_hour
                .map_or("-".to_owned(), |polls| format!("{polls:.1}"));
            let _ = writeln!(
                rows,
                "{:<10} {clients:<9} {:>9} {:>8.0} {:>8.0} {:>8.1} {:>6.0} {half_hour:>10} {:>8.2} {:>8} {:>7} {:>9.0} {:>9}",
                series.scenario.name,
                series.scenario.visitors,
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

/// How the estimates held, by the length of the wait, all seeds together.
fn estimates(all: &[Series]) -> String {
    let mut rows = format!(
        "{:<10} {:<12} {:>10} {:>8} {:>9} {:>9} {:>8} {:>8}\n",
        "scenario", "wait", "shown", "unknown", "coverage", "sooner", "error", "width"
    );
    for series in all {
        let told = series.told();
        let mut from = 0;
        for (to, held) in WAITS_SECONDS.into_iter().zip(&told) {
            let wait = if to == u64::MAX {
                format!("{from}s and more")
            } else {
                format!("{from}-{to}s")
            };
            rows += &estimates_row(series.scenario.name, &wait, held);
            from = to;
        }
        rows += &estimates_row(series.scenario.name, "all", &together(&told));
    }
    rows
}

#[allow(clippy::cast_precision_loss)]
fn estimates_row(name: &str, wait: &str, held: &Held) -> String {
    if held.shown + held.unknown == 0 {
        return String::new();
    }
    format!(
        "{name:<10} {wait:<12} {:>10} {:>8.3} {:>9.3} {:>9.3} {:>8.3} {:>8.3}\n",
        held.shown,
        held.not_told(),
        held.coverage(),
        held.sooner as f64 / held.shown.max(1) as f64,
        held.mean_error(),
        held.mean_width(),
    )
}

/// How the estimates held from seed to seed: means of the seeds, and the lowest and highest coverage of one.
fn draws(all: &[Series]) -> String {
    let mut rows = format!(
        "{:<10} {:>6} {:>9} {:>8} {:>8} {:>8} {:>8} {:>9}\n",
        "scenario", "seeds", "coverage", "lowest", "highest", "error", "width", "not_told"
    );
    for series in all {
        let told: Vec<Held> = series.paced.iter().map(|run| together(&run.told)).collect();
        let means = |of: fn(&Held) -> f64| mean(told.iter().map(of)).unwrap_or(0.0);
        let coverages = || told.iter().map(Held::coverage);
        let _ = writeln!(
            rows,
            "{:<10} {:>6} {:>9.3} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>9.3}",
            series.scenario.name,
            told.len(),
            means(Held::coverage),
            coverages().fold(1.0, f64::min),
            coverages().fold(0.0, f64::max),
            means(Held::mean_error),
            means(Held::mean_width),
            means(Held::not_told),
        );
    }
    rows
}

/// Of all scenarios and seeds: the polls of the scenario that has most of them, and every answer that was given.
fn closing(all: &[Series]) -> String {
    let each = |of: fn(&Series) -> &[Run]| -> Vec<Figures> { all.iter().map(|one| over(of(one))).collect() };
    let (paced, fixed) = (each(|series| &series.paced), each(|series| &series.fixed));
    let half_hour = |of: &[Figures]| {
        let polls = of.iter().filter_map(|figures| figures.polls_half_hour);
        polls.fold(f64::NAN, f64::max)
    };
    let (all_paced, all_fixed) = (Figures::over(&paced), Figures::over(&fixed));
    let told: Vec<Held> = all.iter().flat_map(Series::told).collect();
    let told = together(&told);
    [
        format!("polls_per_visitor_30min={:.1}\n", half_hour(&paced)),
        format!("polls_per_visitor_30min_max={}\n", all_paced.polls_half_hour_max),
        format!("polls_per_visitor_30min_fixed_3s={:.1}\n", half_hour(&fixed)),
        format!("lost_turns={}\n", all_paced.lost_turns),
        format!("overshoot={}\n", all_paced.overshoot + all_fixed.overshoot),
        format!("estimate_coverage_80={:.3}\n", told.coverage()),
        format!("estimate_mean_relative_error={:.3}\n", told.mean_error()),
        format!("held_max={}\n", all_paced.held_max),
    ]
    .concat()
}

fn over(runs: &[Run]) -> Figures {
    let figures: Vec<Figures> = runs.iter().map(|run| run.figures).collect();
    Figures::over(&figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{scenario::Scenario, series::run_all};

    /// The cells of the row that begins with these.
    fn row<'a>(text: &'a str, begins: &[&str]) -> Vec<&'a str> {
        let mut rows = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.find(|cells| cells.starts_with(begins))
            .expect("there is such a row")
    }

    #[test]
    fn every_table_speaks_of_all_seeds() {
        let scenario = Scenario::named("flash", 200, 1).expect("one of the names");
        let mut series = run_all(vec![scenario], 2).remove(0);
        let held = |inside| Held {
            shown: 10,
            unknown: 10,
            inside,
            sooner: 0,
            errors: 1.0,
            widths: 5.0,
        };
        for (run, (inside, number)) in series.paced.iter_mut().zip([(5, 3), (9, 4)]) {
            run.told = Default::default();
            run.told[1] = held(inside);
            (run.figures.lost_turns, run.figures.held_max) = (number, number);
            run.figures.wait_mean_seconds = 100.0;
        }
        series.paced[1].figures.wait_mean_seconds = 200.0;
        let text = print(&[series]);

        let crowd = row(&text, &["flash", "paced", "200"]);
        assert_eq!((crowd[3], crowd[9], crowd[10]), ("150", "4", "7"), "{text}");
        let by_wait = row(&text, &["flash", "10-60s"]);
        assert_eq!(by_wait[2..5], ["20", "0.500", "0.700"], "{text}");
        let draws = row(&text, &["flash", "2"]);
        assert_eq!(
            draws[2..],
            ["0.700", "0.500", "0.900", "0.100", "0.500", "0.500"],
            "{text}"
        );
        for closes in [
            "lost_turns=7",
            "overshoot=0",
            "estimate_coverage_80=0.700",
            "held_max=4",
        ] {
            assert!(text.lines().any(|line| line == closes), "{closes}: {text}");
        }
    }
}
