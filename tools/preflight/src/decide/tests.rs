//! Every rule, with answers of an account that is ready and with one answer that is not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use vestibule_domain::preflight::{Finding, Outcome};
use vestibule_sizing::{ceilings::FUNCTION_NAMES, crowd_sizing::CrowdDemand};

use super::{EMULATED, decide_findings, openapi_routes::declared_routes};
use crate::account_answers::{
    AccountAnswers, ClaimsAnswer, ExecutionQuota, FunctionAnswer, FunctionCall, FunctionConfiguration,
    FunctionReply, RequestQuota, StackAnswer, StartAnswer, TableAnswer,
};

const PARAMETERS: [(&str, &str); 17] = [
    ("Emulator", "no"),
    ("Size", "sale"),
    ("VisitorAuth", "cognito"),
    ("VisitorClaim", "sub"),
    ("HeldBudget", "by size"),
    ("StatusConcurrency", "by size"),
    ("ThrottleRate", "by size"),
    ("DocumentConcurrency", "by size"),
    ("EnterConcurrency", "by size"),
    ("ClaimConcurrency", "by size"),
    ("ValidateConcurrency", "by size"),
    ("PromoterConcurrency", "by size"),
    ("OperatorConcurrency", "by size"),
    ("ThrottleBurst", "by size"),
    ("EnterThrottleRate", "by size"),
    ("ClaimThrottleRate", "by size"),
    ("ValidateThrottleRate", "by size"),
];

fn table() -> TableAnswer {
    TableAnswer {
        items: 1_000_000,
        has_recovery: true,
        has_time_to_live: true,
        has_deletion_protection: true,
        warm_reads: Some(12_000),
        warm_writes: Some(4_000),
    }
}

fn function(reserved: Option<u32>) -> FunctionAnswer {
    let environment = BTreeMap::from([("VESTIBULE_VISITOR_CLAIM".to_owned(), "sub".to_owned())]);
    FunctionAnswer {
        reserved: Ok(reserved),
        configuration: Ok(FunctionConfiguration {
            environment,
            subnets: Vec::new(),
        }),
    }
}

/// The answers of functions that start in 120 ms, of which one serves this many keys.
fn started(keys: usize) -> Vec<StartAnswer> {
    let start = |(name, status, body)| StartAnswer {
        name,
        call: Ok(FunctionCall::Answered(FunctionReply {
            status,
            body,
            init_ms: Some(120.0),
            troubles: Vec::new(),
        })),
    };
    let keys = vec![json!({ "kty": "EC", "crv": "P-256" }); keys];
    let unknown = || json!({ "code": "unknown-queue" });
    let answers = [
        ("Document", 200, json!({ "keys": keys })),
        ("Enter", 404, unknown()),
        ("Claim", 404, unknown()),
        ("Status", 404, unknown()),
        ("Validate", 403, json!({ "code": "service-only" })),
        ("Authorizer", 403, json!({ "code": "invalid-pass" })),
    ];
    answers.map(start).into()
}

/// What a function answered.
fn reply<'a>(answers: &'a mut AccountAnswers, name: &str) -> &'a mut FunctionReply {
    let start = answers.starts.iter_mut().find(|start| start.name == name);
    match &mut start.expect(name).call {
        Ok(FunctionCall::Answered(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

/// The answers of an account that is ready.
fn ready() -> AccountAnswers {
    let parameters = PARAMETERS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    AccountAnswers {
        stack: StackAnswer {
            status: "UPDATE_COMPLETE".to_owned(),
            parameters: BTreeMap::from(parameters),
        },
        executions: Ok(ExecutionQuota { limit: 1_000 }),
        functions: [100, 53, 300, 50, 100]
            .map(|reserved| function(Some(reserved)))
            .to_vec(),
        requests: Ok(RequestQuota {
            rate: 10_000.0,
            burst: 5_000,
        }),
        routes: Ok(declared_routes()),
        zones: Ok(vec!["use1-az1".to_owned(), "use1-az2".to_owned()]),
        claims: ClaimsAnswer::OfPool(Ok(BTreeSet::from(["sub".to_owned(), "email".to_owned()]))),
        starts: started(1),
        queues_table: Ok(table()),
        entries_table: Ok(table()),
    }
}

fn with_parameter(name: &str, value: &str) -> AccountAnswers {
    let mut answers = ready();
    answers.stack.parameters.insert(name.to_owned(), value.to_owned());
    answers
}

/// The checks with this outcome. Each finding that is not ok has a remedy.
fn checks_with(outcome: Outcome, findings: &[Finding]) -> Vec<&str> {
    for finding in findings {
        assert_eq!(
            finding.remedy.is_none(),
            finding.outcome == Outcome::Ok,
            "{finding:?}"
        );
    }
    let findings = findings.iter().filter(|finding| finding.outcome == outcome);
    findings.map(|finding| finding.check.as_str()).collect()
}

#[test]
fn ready_account_has_no_fault() {
    let findings = decide_findings(&ready(), |_, _| None);
    assert_eq!(
        findings.len(),
        checks_with(Outcome::Ok, &findings).len(),
        "{findings:?}"
    );
}

/// Changes the answers so that something is wrong.
type PlantFault = fn(&mut AccountAnswers);

fn set_parameter(answers: &mut AccountAnswers, name: &str, value: &str) {
    let parameters = &mut answers.stack.parameters;
    parameters.insert(name.to_owned(), value.to_owned());
}

fn set_requests(answers: &mut AccountAnswers, rate: f64, burst: u32) {
    answers.requests = Ok(RequestQuota { rate, burst });
}

/// Plants each fault alone. Each must be found, and nothing else.
fn expect_each_alone(faults: &[(&str, PlantFault)]) {
    for (check, plant) in faults {
        let mut answers = ready();
        plant(&mut answers);
        let findings = decide_findings(&answers, |_, _| None);
        assert_eq!(checks_with(Outcome::Fault, &findings), [*check], "{findings:?}");
    }
}

#[test]
fn each_limit_that_is_too_low_is_found_alone() {
    expect_each_alone(&[
        ("concurrency", |answers| {
            answers.executions = Ok(ExecutionQuota { limit: 400 });
        }),
        ("held-polls", |answers| {
            set_parameter(answers, "HeldBudget", "300");
        }),
        ("function-concurrency", |answers| {
            answers.functions[1].reserved = Ok(Some(5));
        }),
        ("function-concurrency", |answers| {
            answers.functions[2].reserved = Ok(None);
        }),
        ("api-requests", |answers| set_requests(answers, 1_000.0, 5_000)),
        ("api-requests", |answers| set_requests(answers, 10_000.0, 100)),
        ("restore-time", |answers| {
            answers.entries_table.as_mut().expect("a table").items = 4_000_000;
        }),
        ("cold-start", |answers| {
            reply(answers, "Enter").init_ms = Some(2_500.0);
        }),
    ]);
}

#[test]
fn held_polls_need_executions_of_the_account() {
    let mut answers = ready();
    for name in FUNCTION_NAMES {
        set_parameter(&mut answers, &format!("{name}Concurrency"), "0");
    }
    answers.functions = vec![function(None); FUNCTION_NAMES.len()];
    for name in ["PromoterConcurrency", "OperatorConcurrency"] {
        set_parameter(&mut answers, name, "0");
    }
    // 200 held polls, two promoters and one of each function.
    answers.executions = Ok(ExecutionQuota { limit: 206 });
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), ["concurrency"]);
    answers.executions = Ok(ExecutionQuota { limit: 207 });
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), Vec::<&str>::new());
}

/// A trial fits a new account. Before a sale it is the one fault.
#[test]
fn a_trial_is_found_before_a_sale() {
    let mut answers = with_parameter("Size", "trial");
    answers.functions = vec![function(None); FUNCTION_NAMES.len()];
    answers
        .entries_table
        .as_mut()
        .expect("a table")
        .has_deletion_protection = false;
    answers.executions = Ok(ExecutionQuota { limit: 10 });
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), ["size"], "{findings:?}");
    answers.executions = Ok(ExecutionQuota { limit: 8 });
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), ["size", "concurrency"]);
}

#[test]
fn each_wrong_deployment_is_found_alone() {
    expect_each_alone(&[
        ("stack", |answers| {
            answers.stack.status = "UPDATE_ROLLBACK_COMPLETE".to_owned();
        }),
        ("api-import", |answers| {
            answers.routes.as_mut().expect("routes").pop_last();
        }),
        ("zones", |answers| {
            answers.zones = Ok(vec!["use1-az1".to_owned(); 2]);
        }),
        ("visitor-claim", |answers| {
            answers.claims = ClaimsAnswer::OfPool(Ok(BTreeSet::new()));
        }),
        ("visitor-claim", |answers| {
            set_parameter(answers, "VisitorClaim", "email");
        }),
        ("visitor-claim", |answers| {
            answers.claims = ClaimsAnswer::OfToken(Err("401".to_owned()));
        }),
        ("public-keys", |answers| {
            answers.starts = started(0);
        }),
        ("start-enter", |answers| {
            answers.starts[1].call = Ok(FunctionCall::Failed("no secret".to_owned()));
        }),
        ("start-claim", |answers| reply(answers, "Claim").status = 503),
        ("start-authorizer", |answers| {
            reply(answers, "Authorizer").status = 0;
        }),
        ("start-enter", |answers| {
            reply(answers, "Enter").troubles = vec!["origin_key.read_failed".to_owned()];
        }),
        ("table-protection", |answers| {
            answers.queues_table.as_mut().expect("a table").has_recovery = false;
        }),
        ("table-protection", |answers| {
            answers.entries_table.as_mut().expect("a table").has_time_to_live = false;
        }),
        ("table-protection", |answers| {
            answers
                .queues_table
                .as_mut()
                .expect("a table")
                .has_deletion_protection = false;
        }),
    ]);
}

#[test]
fn a_question_without_an_answer_is_unknown() {
    let no = || "AccessDeniedException".to_owned();
    let answers = AccountAnswers {
        executions: Err(no()),
        functions: vec![
            FunctionAnswer {
                reserved: Err(no()),
                configuration: Err(no())
            };
            5
        ],
        requests: Err(no()),
        routes: Err(no()),
        zones: Err(no()),
        claims: ClaimsAnswer::NoToken,
        starts: started(1)
            .into_iter()
            .map(|start| StartAnswer {
                call: Err(no()),
                ..start
            })
            .collect(),
        queues_table: Err(no()),
        entries_table: Err(no()),
        ..ready()
    };
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), Vec::<&str>::new());
    assert_eq!(
        checks_with(Outcome::Ok, &findings),
        ["stack", "size", "held-polls"]
    );
}

#[test]
fn a_document_function_that_does_not_start_is_one_fault() {
    let mut answers = ready();
    answers.starts[0].call = Ok(FunctionCall::Failed("no secret".to_owned()));
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), ["start-document"]);
    assert_eq!(checks_with(Outcome::Unknown, &findings), ["public-keys"]);
}

#[test]
fn functions_that_ran_already_tell_no_time_of_a_start() {
    let mut answers = ready();
    for name in ["Document", "Enter", "Claim", "Status", "Validate", "Authorizer"] {
        reply(&mut answers, name).init_ms = None;
    }
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Unknown, &findings), ["cold-start"]);
}

#[test]
fn an_emulator_does_not_answer_for_an_account() {
    let mut answers = with_parameter("Emulator", "yes");
    answers.executions = Ok(ExecutionQuota { limit: 10 });
    let findings = decide_findings(&answers, |_, _| None);
    assert_eq!(checks_with(Outcome::Fault, &findings), Vec::<&str>::new());
    assert_eq!(checks_with(Outcome::Unknown, &findings), EMULATED);
    for finding in findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Unknown)
    {
        assert!(
            finding.found.starts_with("an emulator cannot answer"),
            "{finding:?}"
        );
    }
}

#[test]
fn a_crowd_is_compared_with_the_limits_of_the_account() {
    let crowd = |visitors, arrival_seconds| {
        move |cache, has_cdn| {
            Some(CrowdDemand {
                visitors,
                arrival_seconds,
                wait_seconds: 1_800,
                session_seconds: 300,
                checks: 6,
                cache,
                has_cdn,
            })
        }
    };
    let few = decide_findings(&ready(), crowd(50_000, 1_800));
    assert_eq!(checks_with(Outcome::Fault, &few), Vec::<&str>::new());
    assert!(
        checks_with(Outcome::Ok, &few).contains(&"crowd-lambda"),
        "{few:?}"
    );

    let mut small = ready();
    set_requests(&mut small, 5_000.0, 5_000);
    let mut small = decide_findings(&small, crowd(50_000, 1_800));
    small.retain(|finding| finding.check == "crowd-api-gateway");
    assert!(
        small[0].found.ends_with("of 5000 requests per second"),
        "{small:?}"
    );

    let many = decide_findings(
        &with_parameter("CacheNodeType", "cache.r7g.large"),
        crowd(1_000_000, 1_800),
    );
    assert!(
        checks_with(Outcome::Fault, &many).contains(&"crowd-enter"),
        "{many:?}"
    );

    let too_fast = decide_findings(&ready(), crowd(1_000_000, 60));
    assert_eq!(checks_with(Outcome::Fault, &too_fast), ["crowd-arrival"]);
}
