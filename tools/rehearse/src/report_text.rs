//! The report as text for people.

use std::{fmt::Write, process::ExitCode};

use crate::{
    comparison::ComparisonRow,
    report::{Comparison, QUEUEING_MS_MAX, Report},
};

/// Describes a report.
pub(crate) fn describe(report: &Report) -> String {
    let mut text = format!("rehearsal of {} in {:.0} s\n", report.queue, report.seconds);
    if let Some(stopped) = report.stopped {
        line(&mut text, stopped);
    }
    describe_visitors(&mut text, report);
    line(&mut text, "");
    for guarantee in report.guarantees.describe() {
        line(&mut text, &guarantee);
    }
    describe_requests(&mut text, report);
    describe_cost(&mut text, report);
    describe_comparison(&mut text, &report.comparison);
    line(&mut text, "");
    if report.findings.is_empty() {
        line(&mut text, "no findings");
    }
    for finding in &report.findings {
        line(&mut text, &format!("FINDING  {finding}"));
    }
    text
}

fn describe_visitors(text: &mut String, report: &Report) {
    let crowd = &report.crowd;
    let conducts: Vec<_> = crowd
        .by_conduct
        .iter()
        .map(|(conduct, count)| format!("{count} {}", conduct.name()))
        .collect();
    line(
        text,
        &format!("visitors   {} arrived: {}", crowd.arrived, conducts.join(", ")),
    );
    line(
        text,
        &format!(
            "visits     {} entered, {} let in at once, {} promoted, {} claimed, {} completed, {} left, {} lapsed, {} expired",
            crowd.entered,
            crowd.fast_tracked,
            crowd.promoted,
            crowd.claimed,
            crowd.completed,
            crowd.left,
            crowd.lapsed,
            crowd.expired
        ),
    );
    let refusals = crowd
        .refused
        .iter()
        .map(|(code, count)| format!("{count} refused by {code}"));
    let lost = crowd
        .lost
        .iter()
        .map(|(code, count)| format!("{count} lost by {code}"));
    for other in refusals.chain(lost) {
        line(text, &format!("           {other}"));
    }
    if crowd.without_place > 0 {
        line(
            text,
            &format!("           {} had no place at the end", crowd.without_place),
        );
    }
}

fn describe_requests(text: &mut String, report: &Report) {
    line(text, "");
    let columns = ["p50", "p90", "p99", "max"]
        .map(|name| format!("{name:>9}"))
        .concat();
    line(
        text,
        &format!("{:<12}{:>9}{columns}  milliseconds", "requests", "number"),
    );
    for figures in &report.operations {
        let times = [figures.p50_ms, figures.p90_ms, figures.p99_ms, figures.max_ms];
        let times = times.map(|ms| format!("{ms:>9.1}")).concat();
        line(
            text,
            &format!("{:<12}{:>9}{times}", figures.act.name(), figures.requests),
        );
        for (code, count) in &figures.failures {
            line(text, &format!("            {count} failed: {code}"));
        }
    }
    line(
        text,
        &format!(
            "{:.1} requests of a visitor, {:.1} of them for the public document",
            report.requests_per_visitor, report.document_reads_per_visitor
        ),
    );
    if report.longest_queueing_ms > QUEUEING_MS_MAX {
        line(
            text,
            &format!(
                "a request waited {:.0} ms for a connection of this program: raise --connections, or use more machines",
                report.longest_queueing_ms
            ),
        );
    }
}

fn describe_cost(text: &mut String, report: &Report) {
    let cost = &report.cost;
    let heading = format!("cost so far, list prices of {}", cost.prices_of);
    line(text, "");
    line(text, &format!("{heading:<34}{:>14}{:>12}", "units", "USD"));
    for item in &cost.items {
        line(
            text,
            &format!("{:<34}{:>14.3}{:>12.5}", item.what, item.units, item.dollars),
        );
    }
    line(text, &format!("{:<34}{:>14}{:>12.5}", "total", "", cost.dollars));
}

fn describe_comparison(text: &mut String, comparison: &Comparison) {
    line(text, "");
    match comparison {
        Comparison::NotAsked => line(
            text,
            "not compared with the server: there is no way to its operators' commands",
        ),
        Comparison::Failed(reason) => line(text, &format!("not compared with the server: {reason}")),
        Comparison::Rows {
            rows,
            server_peak_waiting,
        } => {
            line(
                text,
                &format!(
                    "{:<24}{:>10}{:>10}  {:<12}server may have",
                    "figure", "visitors", "server", ""
                ),
            );
            for row in rows {
                line(text, &describe_row(row));
            }
            line(
                text,
                &format!("{:<24}{:>10}{server_peak_waiting:>10}", "most in line", ""),
            );
        }
    }
}

fn describe_row(row: &ComparisonRow) -> String {
    let verdict = match (row.agrees(), row.crowd == row.server) {
        (_, true) => "equal",
        (true, false) => "agrees",
        (false, false) => "DIFFERS",
    };
    let may_have = match (row.low, row.high) {
        (low, high) if low == high => format!("{low}"),
        (low, u64::MAX) => format!("{low} or more"),
        (low, high) => format!("{low} to {high}"),
    };
    format!(
        "{:<24}{:>10}{:>10}  {verdict:<12}{may_have}",
        row.name, row.crowd, row.server
    )
}

fn line(text: &mut String, content: &str) {
    // Writing into a text cannot fail.
    let _ = writeln!(text, "{content}");
}

/// Prints a report as text or as JSON. It is a failure if there are findings.
pub(crate) fn print(report: &Report, as_json: bool) -> ExitCode {
    if as_json {
        println!("{:#}", serde_json::json!(report));
    } else {
        print!("{}", describe(report));
    }
    if report.findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
