//! A report as CSV (RFC 4180): rows of the same eight columns, which a spreadsheet sorts and filters.

use std::fmt::Write;

use vestibule_domain::iso_time::to_iso;
use vestibule_domain::tally::Histogram;

use super::report_content::ReportContent;

/// Without a byte order mark, Excel reads the file in the legacy encoding of the machine, so Korean texts become garbage.
const BYTE_ORDER_MARK: &str = "\u{feff}";
/// The percentiles that it shows.
const PERCENTILES: [(&str, u64); 3] = [("p50_ms", 50), ("p90_ms", 90), ("p99_ms", 99)];
const HEADER: &str = "section,name,value,at_ms,at,caller,request_id,details\r\n";

/// One row. An empty text is an empty cell. The column `at` is `at_ms` as an ISO time.
#[derive(Default)]
struct Row<'a> {
    section: &'a str,
    name: &'a str,
    value: Option<u64>,
    at_ms: Option<u64>,
    caller: &'a str,
    request_id: &'a str,
    details: &'a str,
}

/// Formats a report.
pub(super) fn format_csv(report: &ReportContent<'_>) -> String {
    let mut csv = format!("{BYTE_ORDER_MARK}{HEADER}");
    add_numbers(&mut csv, report);
    for order in &report.log.orders {
        // Whom it concerned stands behind its fields.
        let details = [order.arguments.as_str(), &order.tokens.join(" ")].join(" ");
        let details = details.trim();
        add_row(
            &mut csv,
            &Row {
                section: "order",
                name: &order.op,
                value: None,
                at_ms: Some(order.at_ms),
                caller: order.caller.as_deref().unwrap_or_default(),
                request_id: order.request_id.as_deref().unwrap_or_default(),
                details,
            },
        );
    }
    add_number(&mut csv, ("orders", "fallen_out"), report.orders_fallen_out());
    csv
}

fn add_numbers(csv: &mut String, report: &ReportContent<'_>) {
    let tally = &report.counted.tally;
    add_row(
        csv,
        &Row {
            section: "queue",
            name: "generation",
            value: Some(report.counted.generation.into()),
            at_ms: Some(report.counted.at_ms),
            details: report.queue.as_str(),
            ..Row::default()
        },
    );
    for (name, total) in tally.totals.fields() {
        add_number(csv, ("totals", name), total);
    }
    add_number(csv, ("totals", "let_in"), tally.totals.let_in());
    if let Some(live) = &report.live {
        let counts = [
            ("waiting", live.in_line()),
            ("absent", live.absent),
            ("ready", live.ready),
        ];
        for (name, count) in counts
            .into_iter()
            .chain([("active", live.active), ("held", live.held)])
        {
            add_number(csv, ("live", name), count);
        }
    }
    add_row(
        csv,
        &Row {
            section: "peak",
            name: "waiting",
            value: Some(tally.peak.waiting),
            at_ms: Some(tally.peak.at_ms),
            ..Row::default()
        },
    );
    add_histogram(csv, ("waits", "wait_bucket"), &tally.waits);
    add_histogram(csv, ("stays", "stay_bucket"), &tally.stays);
}

fn add_histogram(csv: &mut String, (section, bucket_section): (&str, &str), durations: &Histogram) {
    let count = durations.count();
    add_number(csv, (section, "count"), count);
    let percentiles = PERCENTILES.map(|(name, percent)| (name, durations.percentile_ms(percent)));
    let others = [
        ("mean_ms", durations.mean_ms()),
        ("max_ms", Some(durations.max_ms())),
    ];
    for (name, value) in percentiles.into_iter().chain(others) {
        if let Some(value) = value.filter(|_| count > 0) {
            add_number(csv, (section, name), value);
        }
    }
    for bucket in durations.buckets() {
        let name = format!("{} to below {} ms", bucket.from_ms, bucket.below_ms);
        add_number(csv, (bucket_section, &name), bucket.count);
    }
}

fn add_number(csv: &mut String, (section, name): (&str, &str), value: u64) {
    let row = Row {
        section,
        name,
        value: Some(value),
        ..Row::default()
    };
    add_row(csv, &row);
}

fn add_row(csv: &mut String, row: &Row<'_>) {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let cells = [
        escape_cell(row.section),
        escape_cell(row.name),
        number(row.value),
        number(row.at_ms),
        // A peak that never was is at 0.
        row.at_ms
            .filter(|at_ms| *at_ms > 0)
            .map(to_iso)
            .unwrap_or_default(),
        escape_cell(row.caller),
        escape_cell(row.request_id),
        escape_cell(row.details),
    ];
    // Writing to a string cannot fail.
    let _ = write!(csv, "{}\r\n", cells.join(","));
}

/// Quotes a cell where it needs that. A cell that a spreadsheet would take for a formula gets an apostrophe in front:
/// [CSV injection](https://owasp.org/www-community/attacks/CSV_Injection). Operators write these texts.
pub(super) fn escape_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let text = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\r', '\n', ';', '\t']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}
