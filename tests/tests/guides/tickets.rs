//! `docs/tickets.md`: the samples of the page run as they are, and the runner accepts the tickets that they sign.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_tests::{runner::Runner, template::read_text};

use crate::{
    answers::{assert_as_shown, assert_no_problem},
    installed,
    page::{CommandRule, Handling, fences_in, known_commands},
    root,
    session::Session,
    start_runner,
};

const PAGE: &str = "docs/tickets.md";
const QUEUE: &str = "TIMEDEAL:123";

const COMMANDS: &[CommandRule] = &[
    (
        "curl -s \"$API/queues/TIMEDEAL:123/entries\"",
        Handling::WithValues,
        "",
    ),
    ("ticket=$(vestibule-local ticket --sub alice)", Handling::Type, ""),
    ("curl -s 127.0.0.1:8080/queues/demo:1/entries", Handling::Type, ""),
    (
        "echo \"http://127.0.0.1:8080/?queue=demo:1#ticket=$ticket\"",
        Handling::Type,
        "",
    ),
];

/// Asks the shop for the three kinds of tickets, and prints them. A request that gets none prints an empty line.
const ASK_SHOP: &str = r#"
import { server } from "./shop.mjs";
await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
const ask = async (path, options) => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { method: "POST", ...options });
  console.log((await response.json()).ticket ?? "");
};
const headers = { cookie: "session=session-1" };
await ask("/tickets/member", { headers });
await ask("/tickets/invitation", { body: JSON.stringify({ code: "K7Q2-PARTY" }) });
await ask("/tickets/presale", { headers });
await ask("/tickets/member", {});
console.log(Date.now() >= Date.parse("2026-11-27T09:00:00Z"));
server.close();
"#;

const ASK_WITH_CAPTCHA: &str = r#"
import { ticketForCaptcha } from "./captcha.mjs";
console.log(await ticketForCaptcha("answer", "TIMEDEAL:123", async () => true));
console.log(await ticketForCaptcha("answer", "TIMEDEAL:123", async () => false).catch(({ message }) => message));
"#;

/// The backend of a shop: a folder with the samples of the page and their packages.
struct Shop {
    folder: TempDir,
    node: String,
    python: String,
}

impl Shop {
    fn new(samples: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Also installs jose and PyJWT, which the example shops use.
        let python = installed("install_shops >&2; printf %s \"$VESTIBULE_SHOP_PYTHON\"");
        let packages = root().join("examples/express/node_modules");
        std::os::unix::fs::symlink(packages, folder.path().join("node_modules")).expect("a link");
        for (name, text) in samples {
            fs::write(folder.path().join(name), text).expect("written");
        }
        Self {
            folder,
            node: installed("need_node"),
            python,
        }
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Vec<String> {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(program)
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .expect("the program can be started");
        let printed = String::from_utf8(stdout).expect("text");
        assert!(
            status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&stderr)
        );
        printed.lines().map(str::to_owned).collect()
    }

    /// Runs a module of Node.js, and returns the lines that it printed.
    fn run_node(&self, module: &str) -> Vec<String> {
        self.run(&self.node, &["--input-type=module", "--eval", module])
    }
}

async fn enter(runner: &Runner, ticket: &str) -> Value {
    let request = runner
        .http()
        .post(runner.url(&format!("/queues/{QUEUE}/entries")));
    let answer = request.json(&json!({ "ticket": ticket })).send().await;
    let answer = answer.expect("answered");
    assert!(answer.status().is_success(), "{answer:?}");
    answer.json().await.expect("JSON")
}

#[tokio::test]
async fn tickets_of_the_samples_enter_the_queue() {
    let (runner, clone) = start_runner();
    let page = read_text(PAGE);
    let [keys, ticket, shop, captcha, bypass] =
        <[String; 5]>::try_from(fences_in(&page, "js")).expect("five samples");
    let [python] = <[String; 1]>::try_from(fences_in(&page, "python")).expect("one sample");
    let shop = Shop::new(&[
        ("keys.mjs", &keys),
        ("ticket.mjs", &ticket),
        ("shop.mjs", &shop),
        ("captcha.mjs", &captcha),
        ("ticket.py", &python),
    ]);

    // The order of the page shows the public key in part.
    let public_keys = shop.run(&shop.node, &["keys.mjs"]).remove(0);
    let [order] = <[String; 1]>::try_from(fences_in(&page, "json")).expect("one order");
    let mut order: Value = serde_json::from_str(&order).expect("JSON");
    let settings = &mut order["settings"];
    assert_as_shown(&settings["ticket_keys"].to_string(), &public_keys);
    settings["ticket_keys"] = serde_json::from_str(&public_keys).expect("a JWK set");
    // One visitor is in, so that those of the samples wait, as the page shows.
    settings["capacity"] = json!(1);
    runner.run_command(order).await;

    let sign = |visitor: &str| {
        let module = format!(
            "import {{ signTicket }} from './ticket.mjs'; console.log(await signTicket('{visitor}', '{QUEUE}'))"
        );
        shop.run_node(&module).remove(0)
    };
    assert_eq!(enter(&runner, &sign("first")).await["state"], "active");
    enter_as_shown(&runner, &clone, &sign("second"));

    let script = format!("from ticket import sign_ticket; print(sign_ticket('third', '{QUEUE}'))");
    let signed = shop.run(&shop.python, &["-c", &script]).remove(0);
    assert_eq!(enter(&runner, &signed).await["state"], "waiting");

    let [member, invited, presale, stranger, has_begun] =
        <[String; 5]>::try_from(shop.run_node(ASK_SHOP)).expect("five lines");
    let member = enter(&runner, &member).await;
    assert_ne!(member["token"], enter(&runner, &invited).await["token"]);
    assert_eq!(stranger, "", "a visitor without a session gets no ticket");
    if has_begun == "true" {
        // The presale is for the same account, which has one place.
        assert_eq!(member["token"], enter(&runner, &presale).await["token"]);
    } else {
        assert_eq!(presale, "", "the presale has not begun");
    }

    let [solved, unsolved] = <[String; 2]>::try_from(shop.run_node(ASK_WITH_CAPTCHA)).expect("two lines");
    enter(&runner, &solved).await;
    assert_eq!(unsolved, "the CAPTCHA was not solved");

    let bypass = format!("import {{ signTicket }} from './ticket.mjs';\n{bypass}console.log(ticket);");
    let tester = shop.run_node(&bypass).remove(0);
    runner
        .run_command(json!({ "op": "update", "queue": QUEUE, "settings": { "capacity": 2 } }))
        .await;
    assert_eq!(enter(&runner, &tester).await["state"], "active");
}

/// Types the command of the page that enters with a ticket.
fn enter_as_shown(runner: &Runner, clone: &TempDir, ticket: &str) {
    let known = known_commands(PAGE, COMMANDS);
    let typed = known.iter().find(|(_, (_, how, _))| *how == Handling::WithValues);
    let (typed, _) = typed.expect("the command is on the page");
    let command = format!("API={} TICKET={ticket}\n{}", runner.url(""), typed.command);
    let answer = Session::new(runner, clone).type_all(&[command]).remove(0);
    assert_no_problem(&typed.command, &answer);
    assert_as_shown(&typed.answer, &answer);
}

#[test]
fn a_test_ticket_of_the_runner_enters_the_demo_queue() {
    let (runner, clone) = start_runner();
    let known = known_commands(PAGE, COMMANDS);
    let typed = known
        .into_iter()
        .filter(|(_, (_, how, _))| *how == Handling::Type);
    let commands: Vec<_> = typed.map(|(typed, _)| typed.command).collect();
    let outputs = Session::new(&runner, &clone).type_all(&commands);
    let [_, entered, address] = outputs.as_slice() else {
        panic!("three commands: {outputs:?}");
    };
    assert_no_problem(&commands[1], entered);
    assert!(entered.contains("\"visitor\":\"vst_"), "{entered}");
    assert!(address.contains("#ticket=eyJ"), "{address}");
    assert!(Path::new(clone.path()).join(".vestibule").is_dir());
}
