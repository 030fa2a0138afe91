//! Prints what a million visitors cost in several deployments: the tables of `docs/cost.md`.

use std::fmt::Write;

use vestibule_domain::settings::Settings;
use vestibule_sizing::{
    cost::{CostItem, CrowdCost, total_dollars},
    cost_table::{CostRow, MILLION, cost_rows},
};

/// The tables, in Markdown.
pub(crate) fn describe_costs() -> String {
    let settings = Settings::default();
    let rows = cost_rows(&MILLION, &settings);
    let pace = MILLION.load(&settings).pace_for_mean_wait(MILLION.wait_seconds);
    let ours = CrowdCost::at_pace(&MILLION, pace, &settings);
    format!(
        "{}\n{}",
        describe_rows(&rows),
        describe_items("Vestibule with CDN and node-based cache", &ours.items)
    )
}

fn describe_rows(rows: &[CostRow]) -> String {
    let mut text = "| deployment | to the API | to the CDN | of the API's quota | of one slot | \
                    USD, no checks | USD, 6 checks |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for row in rows {
        // Writing into a text cannot fail.
        let _ = writeln!(
            text,
            "| {} | {:.1} | {:.1} | {:.0} % | {:.0} % | {:.0} | {:.0} |",
            row.deployment,
            row.api_requests_per_visitor,
            row.cdn_requests_per_visitor,
            100.0 * row.gateway_share,
            100.0 * row.slot_share,
            row.dollars[0],
            row.dollars[1],
        );
    }
    text
}

fn describe_items(title: &str, items: &[CostItem]) -> String {
    let mut text = format!("| {title} | units | USD |\n| --- | ---: | ---: |\n");
    for item in items {
        let _ = writeln!(
            text,
            "| {} | {:.0} | {:.2} |",
            item.what,
            item.units,
            item.dollars()
        );
    }
    let _ = writeln!(text, "| total | | {:.2} |", total_dollars(items));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_costs_has_the_tables_of_the_program() {
        let page = include_str!("../../../docs/cost.md");
        for table in describe_costs().split("\n\n") {
            assert!(
                page.contains(table.trim_end()),
                "docs/cost.md lacks this table of `plan --cost-table`:\n{table}"
            );
        }
    }
}
