//! The command `report`, after a loss of the line, after a reset, and for a spreadsheet.

use serde_json::{Value, json};
use vestibule_backup::ORDERS_KEPT;
use vestibule_domain::iso_time::to_iso;
use vestibule_line::{LeaveReason, Line, LineHistory, PROMOTE_CHUNK, PromoteOrder};

use super::{AdminFixture, queue};
use crate::{Invocation, report_csv::escape_cell};

/// A queue in which of four visitors one has left and two were promoted, of whom one has had a session.
async fn queue_with_visits() -> AdminFixture {
    let desk = AdminFixture::with_queue(json!({ "capacity": 10, "batch": 2, "paused": true })).await;
    for visitor in ["ada", "bob", "cyd", "dan"] {
        desk.enter(visitor).await;
    }
    let dan = desk.entry_id("dan").await;
    let left = desk.line().leave(&queue(), dan, None, LeaveReason::Leave).await;
    left.expect("left");
    desk.run(json!({ "op": "resume", "queue": "q", "caller": "kim@example.com" }))
        .await;
    let tick = PromoteOrder {
        max_entries: PROMOTE_CHUNK,
        is_promoter: true,
        min_watermark: None,
        history: LineHistory::default(),
    };
    desk.line().promote(&queue(), tick).await.expect("ticked");
    let ada = desk.entry_id("ada").await;
    desk.line().claim(&queue(), ada).await.expect("claimed");
    let done = desk
        .line()
        .leave(&queue(), ada, None, LeaveReason::Complete)
        .await;
    done.expect("completed");
    desk
}

async fn report(desk: &AdminFixture) -> Value {
    desk.run(json!({ "op": "report", "queue": "q" })).await
}

fn ops(report: &Value) -> Vec<&str> {
    let orders = report["orders"].as_array().expect("a list");
    orders
        .iter()
        .map(|order| order["op"].as_str().expect("a text"))
        .collect()
}

#[tokio::test]
async fn a_report_shows_totals_waits_peak_and_orders() {
    let desk = queue_with_visits().await;
    let shown = report(&desk).await;
    for (total, count) in [("entered", 4), ("promoted", 2), ("left", 1), ("let_in", 1)] {
        assert_eq!(shown["totals"][total], count, "{total}: {shown}");
    }
    assert_eq!(shown["waits"]["count"], 2, "{shown}");
    assert!(
        shown["waits"]["p99_ms"].as_u64() <= shown["waits"]["max_ms"].as_u64(),
        "{shown}"
    );
    assert_eq!(shown["stays"]["count"], 1, "{shown}");
    assert_eq!(shown["peak"]["waiting"], 3, "{shown}");
    assert_eq!(shown["live"]["ready"], 1, "{shown}");
    assert_eq!(ops(&shown), ["create", "resume"], "{shown}");
    assert_eq!(shown["orders"][0]["caller"], Value::Null);
    assert_eq!(shown["orders"][1]["caller"], "kim@example.com");
    assert_eq!(shown["orders_fallen_out"], 0);
    let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
    assert_eq!(stats["totals"]["entered"], 4);
    assert_eq!(stats["stays"]["count"], 1, "{stats}");
    assert!(
        stats["stays"]["p90_ms"].as_u64() <= stats["stays"]["sum_ms"].as_u64(),
        "{stats}"
    );
}

#[tokio::test]
async fn a_report_survives_the_loss_of_the_line_and_the_queue() {
    let mut desk = queue_with_visits().await;
    desk.run(json!({ "op": "restore", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    let before = report(&desk).await;
    assert_eq!(before["totals"]["promoted"], 2, "{before}");

    // The server has lost everything.
    desk.admin.line = Line::in_process();
    let lost = report(&desk).await;
    assert_eq!(
        (&lost["totals"], &lost["waits"], &lost["stays"]),
        (&before["totals"], &before["waits"], &before["stays"])
    );
    assert_eq!((&lost["peak"], &lost["live"]), (&before["peak"], &Value::Null));
    desk.run(json!({ "op": "restore", "queue": "q", "confirm": "q", "epoch": 2 }))
        .await;
    desk.enter("eve").await;
    let restored = report(&desk).await;
    assert_eq!(restored["totals"]["entered"], 5, "{restored}");
    assert_eq!(
        (&restored["waits"], &restored["stays"], &restored["peak"]),
        (&before["waits"], &before["stays"], &before["peak"])
    );
    assert_eq!(ops(&restored), ["create", "resume", "restore", "restore"]);
}

#[tokio::test]
async fn a_reset_begins_a_new_report_and_keeps_the_old_one() {
    let desk = queue_with_visits().await;
    desk.run(json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    let new = report(&desk).await;
    assert_eq!(
        (&new["generation"], &new["totals"]["entered"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(
        (&new["waits"]["count"], &new["peak"]["waiting"]),
        (&json!(0), &json!(0))
    );
    let generations: Vec<_> = new["orders"].as_array().expect("a list").iter().collect();
    assert_eq!(
        generations.last().expect("an order")["generation"],
        2,
        "the log goes on"
    );

    let old = desk
        .run(json!({ "op": "report", "queue": "q", "generation": 1 }))
        .await;
    assert_eq!(
        (&old["totals"]["entered"], &old["waits"]["count"]),
        (&json!(4), &json!(2))
    );
    assert_eq!(old["live"], Value::Null);
    desk.expect_refused_field(
        json!({ "op": "report", "queue": "q", "generation": 7 }),
        "generation",
    )
    .await;
    let problem = desk.run_refused(json!({ "op": "report", "queue": "none" })).await;
    assert_eq!(problem["code"], "unknown-queue");
}

/// However an order names its entry, the log has the token, until the record of the entry may be gone.
#[tokio::test]
async fn the_log_says_whom_an_order_concerned_for_as_long_as_the_record_is_kept() {
    let desk =
        AdminFixture::with_queue(json!({ "capacity": 1, "fast_track": false, "retain_hours": 2 })).await;
    let token = desk.enter("ada").await.to_string();
    let bob = desk.enter("bob").await.to_string();
    let by_visitor = json!({ "queue": "q", "visitor": "ada", "kind": "known" });
    for (op, more) in [
        ("lane", json!({ "lane": 2 })),
        ("block", json!({})),
        ("unblock", json!({})),
        ("promote", json!({ "over_pace": true })),
        ("evict", json!({ "confirm": "q", "epoch": 1 })),
    ] {
        let mut order = by_visitor.clone();
        let fields = order.as_object_mut().expect("an object");
        fields.insert("op".to_owned(), json!(op));
        fields.extend(more.as_object().expect("an object").clone());
        desk.run(order).await;
    }
    desk.run(json!({ "op": "evict", "queue": "q", "tokens": [bob], "confirm": "q", "epoch": 1 }))
        .await;
    let shown = report(&desk).await;
    let orders = shown["orders"].as_array().expect("a list");
    for order in &orders[1..6] {
        assert_eq!(order["tokens"], json!([token]), "{order}");
        let kept_ms =
            order["tokens_until_ms"].as_u64().expect("a time") - order["at_ms"].as_u64().expect("a time");
        assert_eq!(kept_ms, 2 * 3_600_000, "{order}");
    }
    assert_eq!(orders[6]["tokens"], json!([bob]));
    let csv = desk
        .run(json!({ "op": "report", "queue": "q", "format": "csv" }))
        .await;
    assert!(
        csv["csv"].as_str().expect("a text").contains(&token),
        "a spreadsheet has it, too"
    );
    let arguments: Vec<_> = orders
        .iter()
        .map(|order| order["arguments"].to_string())
        .collect();
    assert!(
        !arguments.concat().contains(&token) && !arguments.concat().contains(&bob),
        "{arguments:?}"
    );
}

#[tokio::test]
async fn the_log_names_callers_and_no_visitors() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let block = json!({ "op": "block", "queue": "q", "visitor": "secret@example.com", "caller": "kim" });
    let invocation = Invocation {
        identity: Some("eu-1:pool-user".to_owned()),
        request_id: Some("request-1".to_owned()),
        ..Invocation::default()
    };
    assert_eq!(desk.admin.handle_as(block, &invocation).await["ok"], true);
    desk.run_refused(json!({ "op": "pause" })).await;
    desk.run_refused(json!({ "op": "close", "queue": "q" })).await;
    for caller in [
        "",
        "a\nb",
        "a\u{2028}b",
        "mik\u{200b}",
        "\u{202e}nimda",
        "ki\u{ad}m",
    ] {
        let pause = json!({ "op": "pause", "queue": "q", "caller": caller });
        desk.expect_refused_field(pause, "caller").await;
    }
    let shown = report(&desk).await;
    assert_eq!(
        ops(&shown),
        ["create", "block"],
        "a refused order is not in the log"
    );
    let order = &shown["orders"][1];
    assert_eq!(
        (&order["caller"], &order["request_id"]),
        (&json!("eu-1:pool-user"), &json!("request-1"))
    );
    assert!(!shown.to_string().contains("secret"), "{shown}");
}

#[tokio::test]
async fn the_log_is_bounded_and_tells_what_fell_out() {
    let desk = AdminFixture::with_queue(json!({})).await;
    for number in 0..ORDERS_KEPT {
        let op = if number % 2 == 0 { "pause" } else { "resume" };
        desk.run(json!({ "op": op, "queue": "q" })).await;
    }
    let shown = report(&desk).await;
    assert_eq!(ops(&shown).len(), ORDERS_KEPT);
    assert_eq!(
        (&shown["orders_fallen_out"], ops(&shown)[0]),
        (&json!(1), "pause")
    );
}

#[tokio::test]
async fn a_csv_report_has_eight_columns_and_no_formula() {
    let desk = queue_with_visits().await;
    let caller = "=HYPERLINK(\"http://evil.example\";\"x\")";
    desk.run(json!({ "op": "update", "queue": "q", "caller": caller,
                     "settings": { "message": "one, \"two\"" } }))
        .await;
    let shown = desk
        .run(json!({ "op": "report", "queue": "q", "format": "csv" }))
        .await;
    let csv = shown["csv"].as_str().expect("a text");
    let text = csv
        .strip_prefix('\u{feff}')
        .expect("Excel needs the byte order mark");
    let rows: Vec<_> = text.split_terminator("\r\n").map(parse_row).collect();
    assert!(rows.iter().all(|cells| cells.len() == 8), "{csv}");
    assert_eq!(rows[0][..5], ["section", "name", "value", "at_ms", "at"]);
    for cells in &rows[1..] {
        let at = cells[3].parse().map(to_iso).unwrap_or_default();
        assert_eq!(cells[4], at, "the time of {cells:?}");
    }
    let find = |section: &str, name: &str| {
        let found = rows.iter().find(|cells| cells[0] == section && cells[1] == name);
        found.unwrap_or_else(|| panic!("{section} {name} in {csv}"))
    };
    assert_eq!(find("totals", "entered")[2], "4");
    assert_eq!(find("peak", "waiting")[2], "3");
    assert_eq!(find("waits", "count")[2], "2");
    assert_eq!(find("stays", "count")[2], "1");
    let update = find("order", "update");
    assert_eq!(update[5], format!("'{caller}"), "a spreadsheet must not run it");
    assert_eq!(
        serde_json::from_str::<Value>(&update[7]).expect("JSON"),
        json!({ "settings": { "message": "one, \"two\"" } })
    );
}

#[test]
fn a_cell_that_begins_like_a_formula_is_a_text() {
    for (text, cell) in [
        ("plain", "plain"),
        ("", ""),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "\"'\t=1\""),
        ("a,b", "\"a,b\""),
        ("a\r\nb", "\"a\r\nb\""),
        ("say \"x\"", "\"say \"\"x\"\"\""),
        ("=\"a\",b", "\"'=\"\"a\"\",b\""),
    ] {
        assert_eq!(escape_cell(text), cell, "{text:?}");
    }
}

/// Parses one row by RFC 4180. No cell of these tests has a line break.
fn parse_row(row: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}
