use vestibule_domain::preflight::Outcome;

use super::*;

fn good_server() -> ServerAnswers {
    ServerAnswers {
        login: ServerLogin::Iam,
        user: Some("vestibule-1".to_owned()),
        script: Ok(ScriptAnswers {
            version: "valkey 8.0.1".to_owned(),
            time: Ok(()),
            refused_commands: Some(Vec::new()),
        }),
        long_command: Ok(()),
        subscription: Ok(()),
        eviction: EvictionPolicy::NoEviction,
        memory: Some(ServerMemory {
            used_bytes: 500_000,
            max_bytes: 1_000_000,
        }),
    }
}

fn findings_of(server: ServerAnswers) -> Vec<Finding> {
    decide_findings(&ServersAnswers {
        line: Ok(Some(server)),
        entries: Ok(()),
        queues: Ok(()),
        signing_key: KeyAnswer::Signing { keys: 1 },
        root_key: RootKeyAnswer::Readable { others: Vec::new() },
    })
}

/// The checks that are not ok, with their outcomes.
fn not_ok(findings: &[Finding]) -> Vec<(&str, Outcome)> {
    for finding in findings {
        assert_eq!(
            finding.remedy.is_none(),
            finding.outcome == Outcome::Ok,
            "{finding:?}"
        );
    }
    let findings = findings.iter().filter(|finding| finding.outcome != Outcome::Ok);
    findings
        .map(|finding| (finding.check.as_str(), finding.outcome))
        .collect()
}

#[test]
fn good_servers_have_no_fault() {
    assert_eq!(not_ok(&findings_of(good_server())), []);
}

#[test]
fn each_answer_has_its_own_finding() {
    let refuse = || Err("NOPERM".to_owned());
    let with_script = |change: fn(&mut ScriptAnswers)| {
        let mut server = good_server();
        server.script.iter_mut().for_each(change);
        server
    };
    let cases = [
        (
            "line-server",
            Outcome::Fault,
            ServerAnswers {
                script: Err("no".to_owned()),
                ..good_server()
            },
        ),
        (
            "line-time",
            Outcome::Fault,
            with_script(|script| script.time = Err("no".to_owned())),
        ),
        (
            "line-commands",
            Outcome::Fault,
            with_script(|script| script.refused_commands = Some(vec!["ZADD".to_owned()])),
        ),
        (
            "line-commands",
            Outcome::Unknown,
            with_script(|script| script.refused_commands = None),
        ),
        (
            "line-arguments",
            Outcome::Fault,
            ServerAnswers {
                long_command: refuse(),
                ..good_server()
            },
        ),
        (
            "line-subscription",
            Outcome::Fault,
            ServerAnswers {
                subscription: refuse(),
                ..good_server()
            },
        ),
        (
            "line-eviction",
            Outcome::Unknown,
            ServerAnswers {
                eviction: EvictionPolicy::Unknown,
                ..good_server()
            },
        ),
        (
            "line-memory",
            Outcome::Unknown,
            ServerAnswers {
                memory: None,
                ..good_server()
            },
        ),
    ];
    for (check, outcome, server) in cases {
        assert_eq!(not_ok(&findings_of(server)), [(check, outcome)]);
    }
}

#[test]
fn a_server_that_does_not_answer_is_one_fault() {
    let findings = decide_findings(&ServersAnswers {
        line: Err("Redis did not answer in time".to_owned()),
        entries: Ok(()),
        queues: Err("AccessDenied".to_owned()),
        signing_key: KeyAnswer::Unusable("names no secret".to_owned()),
        root_key: RootKeyAnswer::Unreadable("AccessDenied".to_owned()),
    });
    let faults =
        ["line-server", "backup-queues", "signing-key", "root-key"].map(|check| (check, Outcome::Fault));
    assert_eq!(not_ok(&findings), faults);
}

#[test]
fn queues_of_another_root_key_are_named() {
    let others = (1..=7).map(|nth| format!("q:{nth}").parse().expect("a queue id"));
    let finding = root_key_finding(&RootKeyAnswer::Readable {
        others: others.collect(),
    });
    assert_eq!(finding.outcome, Outcome::Fault);
    for part in ["7 of the queues", "q:1, q:2", "q:5 and others"] {
        assert!(finding.found.contains(part), "{finding:?}");
    }
    let unknown = root_key_finding(&RootKeyAnswer::Unknown("Throttled".to_owned()));
    assert_eq!(unknown.outcome, Outcome::Unknown);
}
