//! The sampler against an admin function of its own, which fails as the test says.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::*;
use crate::{AdminCaller, AdminUnreachable, Deployment, DeploymentKind};

/// How the admin function of the test answers.
#[derive(Default)]
struct Script {
    rows: Vec<Value>,
    /// No answer at all.
    is_unreachable: bool,
    /// The table is away: `list` is refused.
    refuses_list: bool,
    asked: Vec<String>,
}

#[derive(Default)]
struct ScriptedAdmin(Mutex<Script>);

impl ScriptedAdmin {
    fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.0.lock().expect("no test panicked"));
    }

    fn take_asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut self.0.lock().expect("no test panicked").asked);
        asked.sort();
        asked
    }
}

#[async_trait]
impl AdminCaller for ScriptedAdmin {
    async fn call(&self, command: Value) -> Result<Value, AdminUnreachable> {
        let mut script = self.0.lock().expect("no test panicked");
        let op = command["op"].as_str().expect("an operation").to_owned();
        let queue = command["queue"].as_str().unwrap_or_default().to_owned();
        script.asked.push(format!("{op} {queue}").trim_end().to_owned());
        if script.is_unreachable {
            return Err(AdminUnreachable("the network is down".to_owned()));
        }
        if op == "list" && script.refuses_list {
            return Ok(
                json!({ "ok": false, "problem": { "code": "backup-unavailable", "detail": "no table" } }),
            );
        }
        let row = script.rows.iter().find(|row| row["queue"] == *queue);
        Ok(match (&*op, row) {
            ("list", _) => json!({ "ok": true, "result": { "queues": script.rows } }),
            (_, Some(row)) => json!({ "ok": true, "result": row }),
            _ => json!({ "ok": false, "problem": { "code": "unknown-queue" } }),
        })
    }
}

fn row(queue: &str, waiting: u64) -> Value {
    json!({ "queue": queue, "waiting": waiting, "absent": 0, "ready": 0, "active": 0, "held": 0 })
}

fn start(rows: Vec<Value>) -> (Arc<ScriptedAdmin>, Arc<Console>, Turns) {
    let admin = Arc::new(ScriptedAdmin::default());
    admin.change(|script| script.rows = rows);
    let deployment = Deployment {
        kind: DeploymentKind::Stack,
        name: "shop".to_owned(),
        region: None,
        page_url: None,
    };
    let console = Console::new(admin.clone(), deployment, "operator".to_owned());
    (admin, console, Turns::default())
}

fn samples(console: &Console, queue: &str) -> Vec<Option<u64>> {
    let findings = console.findings();
    let samples = findings.histories.queues[queue].samples();
    samples.iter().map(|sample| sample.numbers.waiting).collect()
}

#[tokio::test]
async fn a_failing_admin_keeps_the_numbers_and_is_named() {
    let (admin, console, mut turns) = start(vec![row("sale", 5)]);
    console.run_round(&mut turns).await;
    let sampled_at_ms = console.findings().sampled_at_ms;
    assert!(sampled_at_ms.is_some() && console.findings().problem.is_none());

    admin.change(|script| script.is_unreachable = true);
    console.run_round(&mut turns).await;
    assert_eq!(samples(&console, "sale"), [Some(5)]);
    assert_eq!(console.findings().histories.queues["sale"].row, row("sale", 5));
    assert_eq!(console.findings().problem.as_deref(), Some("the network is down"));
    assert_eq!(console.findings().sampled_at_ms, sampled_at_ms);

    admin.change(|script| script.is_unreachable = false);
    console.run_round(&mut turns).await;
    assert_eq!(samples(&console, "sale"), [Some(5), Some(5)]);
    assert_eq!(console.findings().problem, None);
}

#[tokio::test]
async fn without_the_table_the_known_queues_are_sampled() {
    let (admin, console, mut turns) = start(vec![row("sale", 5)]);
    console.run_round(&mut turns).await;
    admin.change(|script| {
        script.refuses_list = true;
        script.rows = vec![row("sale", 4)];
    });
    console.run_round(&mut turns).await;
    assert_eq!(samples(&console, "sale"), [Some(5), Some(4)]);
    assert_eq!(console.findings().problem.as_deref(), Some("no table"));
}

#[tokio::test]
async fn a_row_with_a_problem_is_named() {
    let broken = json!({ "queue": "broken", "problem": "Redis did not answer" });
    let (_admin, console, mut turns) = start(vec![broken, row("sale", 1)]);
    console.run_round(&mut turns).await;
    let problem = console.findings().problem.clone();
    assert_eq!(problem.as_deref(), Some("broken: Redis did not answer"));
    assert_eq!(samples(&console, "sale"), [Some(1)]);
}

#[tokio::test]
async fn a_thousand_idle_queues_are_listed_once_in_ten_rounds() {
    let mut rows: Vec<_> = (0..999).map(|number| row(&format!("idle-{number}"), 0)).collect();
    rows.push(row("sale", 3));
    let (admin, console, mut turns) = start(rows);
    console.run_round(&mut turns).await;
    assert_eq!(admin.take_asked(), ["list", "stats sale"]);
    for _ in 1..10 {
        console.run_round(&mut turns).await;
    }
    assert_eq!(admin.take_asked(), ["stats sale"; 9]);
    console.run_round(&mut turns).await;
    assert_eq!(admin.take_asked(), ["list", "stats sale"]);
    // A command of the operator may have changed what a list shows.
    console.list_soon();
    console.run_round(&mut turns).await;
    assert_eq!(admin.take_asked(), ["list", "stats sale"]);
}

#[test]
fn more_busy_queues_than_a_round_asks_for_take_turns() {
    let queues: Vec<_> = (0..STATS_PER_ROUND * 2 + 50)
        .map(|number| format!("q{number:04}"))
        .collect();
    let mut turns = Turns::default();
    let first = turns.take_next(queues.clone());
    let second = turns.take_next(queues.clone());
    let third = turns.take_next(queues.clone());
    assert_eq!(first, queues[..STATS_PER_ROUND]);
    assert_eq!(second, queues[STATS_PER_ROUND..2 * STATS_PER_ROUND]);
    assert_eq!(third[..50], queues[2 * STATS_PER_ROUND..]);
    assert_eq!(third[50..], queues[..STATS_PER_ROUND - 50]);
}
