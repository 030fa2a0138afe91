//! `docs/commands.md`: commands of operators.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_tests::{
    markdown::code_spans, preflight::PreflightRun, runner::Runner, template::read_text, waiting::poll_until,
};

use crate::{
    answers::assert_no_problem,
    page::{CommandRule, Handling, fences_in, known_commands},
    session::Session,
    start_runner,
};

const PAGE: &str = "docs/commands.md";
const QUEUE: &str = "TIMEDEAL:123";
/// The time until the queue of the draw opens, and a while for the document to show it.
const OPENING_MAX: Duration = Duration::from_secs(30);

const COMMANDS: &[CommandRule] = &[
    (
        "aws lambda invoke --function-name shop-AdminFunction-XXXX",
        Handling::Type,
        "",
    ),
    (
        "cargo run --profile local --package vestibule-local -- plan",
        Handling::Type,
        "",
    ),
    ("make preflight", Handling::Make, ""),
    ("vestibule-local verify-draw", Handling::WithValues, ""),
    ("aws lambda invoke --function-name shop-admin", Handling::Type, ""),
    ("jq -r .result.csv", Handling::Type, "cat report.json"),
];

/// The orders of the page for which nothing is there: the visitor `ada` is not in line.
const REFUSED: [(&str, &str); 4] = [
    ("promote", "unknown-entry"),
    ("lane", "unknown-entry"),
    ("inspect", "unknown-entry"),
    ("evict", "unknown-entry"),
];

async fn give_order(runner: &Runner, order: &Value) -> Value {
    let request = runner.http().post(runner.url("/_admin")).json(order);
    let answer = request.send().await.expect("answered");
    answer.json().await.expect("JSON")
}

async fn create(runner: &Runner, settings: Value) {
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
}

#[tokio::test]
async fn commands_of_the_operators_guide_can_be_typed() {
    let (runner, clone) = start_runner();
    create(&runner, json!({})).await;
    let session = Session::new(&runner, &clone);
    let known = known_commands(PAGE, COMMANDS);
    let typed = known
        .into_iter()
        .filter(|(_, (_, how, _))| *how == Handling::Type);
    let commands: Vec<_> = typed
        .map(|(typed, (.., before))| format!("{before}\n{}", typed.command))
        .collect();
    for (command, output) in commands.iter().zip(session.type_all(&commands)) {
        assert_no_problem(command, &output);
    }
    let csv = std::fs::read_to_string(clone.path().join("report.csv")).expect("a report");
    assert!(csv.starts_with("\u{feff}section,name,value"), "{csv}");
}

#[test]
fn the_preflight_has_every_option_of_the_guide() {
    let help = PreflightRun::of_stack("--help", &[], &[]).printed;
    let mut options = Vec::new();
    for (typed, (beginning, ..)) in known_commands(PAGE, COMMANDS) {
        if beginning == "make preflight" {
            let words = typed.command.split([' ', '"', '=']).map(str::to_owned);
            options.extend(words.filter(|word| word.starts_with("--")));
        }
    }
    assert!(options.len() > 3, "{options:?}");
    for option in options {
        assert!(help.contains(&format!("{option} ")), "no {option} in {help}");
    }
}

#[tokio::test]
async fn every_order_of_the_operators_guide_is_accepted() {
    let (runner, _clone) = start_runner();
    let page = read_text(PAGE);
    let spans = code_spans(&page).into_iter().map(str::to_owned);
    let mut orders: Vec<_> = spans
        .chain(fences_in(&page, "json"))
        .filter(|text| text.starts_with("{\"op\""))
        .map(|text| serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{text}: {error}")))
        .collect();
    assert!(orders.len() > 30, "{orders:?}");
    // The first one creates the queue, and the ones that end it come last.
    orders.sort_by_key(|order| match order["op"].as_str() {
        Some("create") => 0,
        Some("reset") => 2,
        Some("finish") => 3,
        Some("delete") => 4,
        _ => 1,
    });
    for order in &mut orders {
        if order.get("epoch").is_some() {
            let described = give_order(&runner, &json!({ "op": "describe", "queue": QUEUE })).await;
            order["epoch"] = described["result"]["epoch"].clone();
        }
        let answer = give_order(&runner, order).await;
        let code = &answer["problem"]["code"];
        let is_documented = REFUSED
            .iter()
            .any(|(op, refusal)| order["op"] == *op && code == refusal);
        assert!(
            answer["ok"] == true || is_documented,
            "{order} was answered with {answer}"
        );
    }
}

/// The values come from a draw of this test. The page shows those of another one.
#[tokio::test]
async fn the_draw_of_an_entry_can_be_verified_as_shown() {
    let (runner, clone) = start_runner();
    let opens_at_ms = std::time::UNIX_EPOCH.elapsed().expect("after 1970") + Duration::from_secs(3);
    let opens_at_ms = u64::try_from(opens_at_ms.as_millis()).expect("a time");
    create(
        &runner,
        json!({ "opens_at_ms": opens_at_ms, "before_opening": "draw", "draw_anyone": true }),
    )
    .await;
    let read_document = async || -> Value {
        let request = runner.http().get(runner.url(&format!("/queues/{QUEUE}")));
        let answer = request.send().await.expect("answered");
        answer.json().await.expect("JSON")
    };
    let before = read_document().await;
    let visitor = "11111111-1111-4111-8111-111111111111";
    let entry = runner.enter(QUEUE, visitor).await;
    let after = poll_until(OPENING_MAX, read_document, |document| {
        document["draw_seed"].is_string()
    })
    .await;
    let known = known_commands(PAGE, COMMANDS);
    let typed = known.iter().find(|(_, (_, how, _))| *how == Handling::WithValues);
    let (typed, _) = typed.expect("the command is on the page");
    let token = entry["token"].as_str().expect("a token");
    let status = runner
        .http()
        .get(runner.url(&format!("/queues/{QUEUE}/entries/{token}")));
    let status = status
        .header("X-Visitor-Id", visitor)
        .send()
        .await
        .expect("answered");
    let status: Value = status.json().await.expect("JSON");
    let place = status["place"].to_string();
    let command = typed
        .command
        .replace(" TOKEN", &format!(" {token}"))
        .replace(" PLACE", &format!(" {place}"))
        .replace(
            " DRAW_SEED",
            &format!(" {}", after["draw_seed"].as_str().expect("a seed")),
        )
        .replace(
            " DRAW_COMMITMENT",
            &format!(" {}", before["draw_commitment"].as_str().expect("a commitment")),
        );
    let printed = Session::new(&runner, &clone).type_all(&[command]).remove(0);
    let shown = typed
        .answer
        .replace("55804986909314", &place)
        .replace("00112233-4455-8677-8899-aabbccddeeff", token);
    assert_eq!(printed, shown);
}
