//! `docs/deploying.md`: from nothing to a served page, and taking it down.

use vestibule_tests::template::read_text;

use crate::{
    answers::assert_no_problem,
    page::{CommandRule, Handling, known_commands},
    session::Session,
    start_runner,
};

const PAGE: &str = "docs/deploying.md";

/// A visitor of the queue `demo`, whom the protected service validates, and the variables of its role.
const VISIT: &str = "ENTERED=$(curl -s \"$API/queues/demo/entries\" --json '{}')
TOKEN=$(jq -r .token <<<\"$ENTERED\") VISITOR=$(jq -r .visitor <<<\"$ENTERED\")
AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_SESSION_TOKEN=test";

const COMMANDS: &[CommandRule] = &[
    ("python3 -m venv .venv", Handling::Type, ""),
    (".venv/bin/pip install", Handling::Fetch, ""),
    ("export PATH=$PWD/.venv/bin:$PATH", Handling::Type, ""),
    ("aws lambda get-account-settings", Handling::Type, ""),
    ("cp examples/samconfig.toml", Handling::Type, ""),
    ("sam build", Handling::Type, ""),
    ("sam deploy", Handling::Type, ""),
    ("output() {", Handling::Type, ""),
    ("aws lambda invoke", Handling::Type, ""),
    ("curl -sSf -o /dev/null", Handling::Type, ""),
    (
        "curl -sS \"$(output ApiUrl)/queues/demo/entries\"",
        Handling::Type,
        "",
    ),
    ("API=$(output ApiUrl)", Handling::Type, ""),
    ("curl -s \"$API/queues/demo/entries\"", Handling::Type, ""),
    ("curl -s \"$API/queues/demo\"", Handling::Type, ""),
    (
        "curl -s \"$API/queues/demo/entries/$TOKEN/validate\"",
        Handling::Type,
        VISIT,
    ),
    ("aws s3 sync themes", Handling::Type, ""),
    ("sam delete", Handling::Type, ""),
    ("aws dynamodb update-table", Handling::Type, ""),
    ("aws dynamodb delete-table", Handling::Type, ""),
    ("aws secretsmanager delete-secret", Handling::Type, ""),
];

#[test]
fn commands_of_the_deployment_serve_a_visitor() {
    let (runner, clone) = start_runner();
    let session = Session::new(&runner, &clone);
    let typed: Vec<_> = known_commands(PAGE, COMMANDS)
        .into_iter()
        .filter(|(_, (_, how, _))| *how == Handling::Type)
        .map(|(typed, (.., before))| (typed.command.clone(), format!("{before}\n{}", typed.command)))
        .collect();
    let commands: Vec<_> = typed.iter().map(|(_, command)| command.clone()).collect();
    let outputs = session.type_all(&commands);
    for ((command, _), output) in typed.iter().zip(&outputs) {
        assert_no_problem(command, output);
    }
    let output_of = |beginning: &str| {
        let at = typed
            .iter()
            .position(|(command, _)| command.starts_with(beginning));
        outputs[at.expect("typed")].as_str()
    };
    assert!(
        output_of("aws lambda invoke").contains("\"created\":true"),
        "{outputs:?}"
    );
    assert!(output_of("curl -sSf").starts_with("200 "), "{outputs:?}");
    let entered = output_of("curl -sS \"$(output ApiUrl)/queues/demo/entries\"");
    assert!(entered.contains("\"token\":"), "{entered}");
    let validated = output_of("curl -s \"$API/queues/demo/entries/$TOKEN/validate\"");
    assert!(validated.contains("\"valid\":true"), "{validated}");
}

/// The scripts install the same packages, so they know which Python these need.
#[test]
fn the_guide_asks_for_the_python_of_the_scripts() {
    let scripts = read_text("infra/packages.sh");
    let minimum = scripts
        .lines()
        .find_map(|line| line.strip_prefix("PYTHON_MINIMUM=\""));
    let (minimum, _) = minimum.and_then(|rest| rest.split_once('"')).expect("a version");
    let wanted = format!("Python {} or later", minimum.replace(", ", "."));
    assert!(
        read_text(PAGE).contains(&wanted),
        "the guide does not ask for {wanted}"
    );
}
