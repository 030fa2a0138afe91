//! What AWS enforces and no emulator does, checked on the processed template for each set of parameters that the guide
//! offers. `AWS::Include` and the Serverless transform are done by the translator inside the SAM CLI.
//!
//! # Layout
//! - `processed`: the processed template, and those of the mutations
//! - `sets`: the sets of parameters
//! - `stack`, `physical`: a stack as `CloudFormation` would create it
//! - `iam`, `calls`: the evaluator of policies, and the calls that the functions make
//! - `compression`, `gates`, `lifecycle`, `numbers`, `regions`: the rules
//! - `api_document`: what API Gateway imports of the API's document, with faults of its own
//! - `guide`: what the guide says of rights and prices
//! - `mutations`: a fault for each rule, which the rule finds

mod api_document;
mod calls;
mod compression;
mod gates;
mod guide;
mod iam;
mod lifecycle;
mod mutations;
mod numbers;
mod physical;
mod processed;
mod regions;
mod sets;
mod stack;

use std::collections::BTreeSet;

use serde_json::Value;
use sets::{ParameterSet, SETS};
use stack::Stack;
use vestibule_tests::template::{read_api_document, read_template};

/// A rule: it returns what is wrong with a stack.
type Rule = fn(&Stack<'_>, &ParameterSet) -> Vec<String>;

const RULES: [(&str, Rule); 12] = [
    ("the rules of the template accept the parameters", |stack, _| {
        stack.refused_by()
    }),
    ("every call passes its gates", |stack, _| {
        gates::calls_are_allowed(stack)
    }),
    ("nothing is allowed that no function calls", |stack, _| {
        gates::nothing_else_is_allowed(stack)
    }),
    ("what a variable names is in the role", |stack, _| {
        gates::variables_have_statements(stack)
    }),
    ("AWS's services may call what they call", |stack, _| {
        gates::services_are_allowed(stack)
    }),
    ("a new version changes its function", |stack, _| {
        lifecycle::versions_change_their_functions(stack)
    }),
    ("a creation that fails leaves nothing", |stack, _| {
        lifecycle::failed_creations_leave_nothing(stack)
    }),
    ("what is referred to exists", |stack, _| {
        lifecycle::references_exist(stack)
    }),
    ("sizes fit AWS's limits", |stack, _| numbers::sizes_fit(stack)),
    ("names fit AWS's limits", |stack, _| numbers::names_fit(stack)),
    ("executions fit the account", numbers::executions_fit),
    ("texts are compressed on their way", |stack, _| {
        compression::texts_are_compressed(stack)
    }),
];

/// All that the rules find in a processed template, with the set of parameters that has it.
fn findings(template: &Value) -> impl Iterator<Item = String> {
    let shields = regions::shields_exist(template).into_iter();
    let of_sets = SETS.iter().flat_map(move |set| {
        let stack = Stack::new(template, &set.settings());
        let findings = |(rule, check): &(&str, Rule)| {
            let found = check(&stack, set).into_iter();
            found
                .map(|finding| format!("{rule}: {finding} [{}]", set.name))
                .collect::<Vec<_>>()
        };
        RULES.iter().flat_map(findings).collect::<Vec<_>>()
    });
    shields.chain(of_sets)
}

#[test]
fn the_template_keeps_every_rule_with_every_set_of_parameters() {
    let processed = processed::process(&[(read_template(), read_api_document())]);
    let mut found: BTreeSet<_> = findings(&processed[0]).collect();
    found.extend(guide::rights_of_the_deployer(&processed[0]));
    for name in ["defaults", "nodes"] {
        let set = SETS.iter().find(|set| set.name == name).expect("a set");
        found.extend(guide::idle_price(&Stack::new(&processed[0], &set.settings())));
    }
    let found: Vec<_> = found.into_iter().collect();
    assert!(
        found.is_empty(),
        "{} findings:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Where visitors may enter, by the parameters.
#[test]
fn visitors_enter_through_the_distribution_where_it_has_a_web_acl() {
    let processed = processed::process(&[(read_template(), read_api_document())]);
    let web_acl = (
        "CdnWebAclArn",
        "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b",
    );
    let domain = [
        ("DomainName", "api.shop.example"),
        ("CertificateArn", "arn:aws:acm:::certificate/a"),
    ];
    for (given, expected) in [
        (vec![], "any"),
        (vec![web_acl], "distribution"),
        (vec![web_acl, domain[0], domain[1]], "any"),
        (vec![web_acl, ("Distribution", "no")], "any"),
        (vec![web_acl, ("VisitorsBy", "any")], "any"),
        (vec![("VisitorsBy", "distribution")], "distribution"),
    ] {
        let stack = Stack::new(&processed[0], &given);
        let variables = &stack.resources["EnterFunction"].properties["Environment"]["Variables"];
        assert_eq!(variables["VESTIBULE_VISITORS_BY"], expected, "{given:?}");
    }
}

#[test]
fn each_mutation_breaks_its_rule() {
    let source = (read_template(), read_api_document());
    let mutated = mutations::ALL.iter().map(|mutation| {
        let (mut template, mut document) = source.clone();
        (mutation.apply)(&mut template, &mut document);
        assert!(
            (&template, &document) != (&source.0, &source.1),
            "{}: it changes nothing",
            mutation.name
        );
        (template, document)
    });
    let processed = processed::process(&mutated.collect::<Vec<_>>());
    let mut missed = Vec::new();
    for (mutation, processed) in mutations::ALL.iter().zip(processed) {
        if !findings(&processed).any(|finding| finding.contains(mutation.finding)) {
            missed.push(format!(
                "{}: no finding has '{}'",
                mutation.name, mutation.finding
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
