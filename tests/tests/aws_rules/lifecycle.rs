//! What `CloudFormation` does when a stack is created, changed and rolled back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vestibule_tests::template::for_each_named;

use crate::stack::{Stack, items, object, text_of};

/// A new version needs a change of its function: AWS publishes nothing for a function whose code and configuration are
/// as before, and `CloudFormation` then fails with "A version for this Lambda function exists".
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/api/API_PublishVersion.html>
pub(crate) fn versions_change_their_functions(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for (id, _) in stack.of_kind("AWS::Lambda::Version") {
        let version = &stack.template["Resources"][id]["Properties"];
        let function = text_of(&version["FunctionName"]["Ref"]);
        let of_function = parameters_of(stack, &stack.template["Resources"][&function]["Properties"]);
        for parameter in parameters_of(stack, version).difference(&of_function) {
            findings.push(format!(
                "{id}: {parameter} makes a new version of {function} and does not change the function"
            ));
        }
    }
    findings
}

/// The parameters that a part of the template uses.
fn parameters_of(stack: &Stack<'_>, part: &Value) -> BTreeSet<String> {
    let (parameters, mut used) = (object(&stack.template["Parameters"]), BTreeSet::new());
    for name in references(part) {
        if parameters.contains_key(&name) {
            used.insert(name);
        }
    }
    used
}

/// A creation that fails leaves nothing behind, and what a stack has created outlives it.
///
/// Source: <https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html>
pub(crate) fn failed_creations_leave_nothing(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    for id in stack.resources.keys() {
        let resource = &stack.template["Resources"][id];
        let (deletion, replacement) = (&resource["DeletionPolicy"], &resource["UpdateReplacePolicy"]);
        if deletion == "Retain" {
            findings.push(format!("{id}: Retain keeps it also after a creation that failed"));
        }
        if (deletion == "RetainExceptOnCreate") != (replacement == "Retain") {
            findings.push(format!(
                "{id}: deleted it is {deletion}, and replaced {replacement}"
            ));
        }
    }
    let is_trial = stack.parameter("Size") == "trial";
    for (id, table) in stack.of_kind("AWS::DynamoDB::Table") {
        // A rollback cannot delete a protected table, and ends in ROLLBACK_FAILED.
        if is_trial
            && stack.parameter("DeletionProtection") == "by size"
            && text_of(&table["DeletionProtectionEnabled"]) == "true"
        {
            findings.push(format!(
                "{id}: a trial protects it from deletion, so a creation that fails cannot be rolled back"
            ));
        }
    }
    findings
}

/// No resource needs itself, and none waits for one that may not exist.
pub(crate) fn references_exist(stack: &Stack<'_>) -> Vec<String> {
    let mut findings = stack.missing_references();
    let mut needs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for id in stack.resources.keys() {
        let resource = &stack.template["Resources"][id];
        let mut needed = BTreeSet::new();
        for name in items(&resource["DependsOn"]).into_iter().map(text_of) {
            let condition = &stack.template["Resources"][&name]["Condition"];
            if !condition.is_null() && *condition != resource["Condition"] {
                findings.push(format!(
                    "{id} depends on {name}, which exists only if {condition}"
                ));
            }
            needed.insert(name);
        }
        let chosen = chosen_branches(stack, &resource["Properties"]);
        needed.extend(
            references(&chosen)
                .into_iter()
                .filter(|name| stack.resources.contains_key(name)),
        );
        needs.insert(id, needed);
    }
    findings.extend(find_circle(&needs).map(|circle| format!("a circle: {}", circle.join(" needs "))));
    findings
}

/// Removes what needs nothing that is left, until only circles are left. Returns one of them.
fn find_circle(needs: &BTreeMap<&str, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut left = needs.clone();
    loop {
        let done: Vec<&str> = left
            .iter()
            .filter(|(_, needed)| needed.iter().all(|name| !left.contains_key(name.as_str())))
            .map(|(id, _)| *id)
            .collect();
        if done.is_empty() {
            break;
        }
        left.retain(|id, _| !done.contains(id));
    }
    let mut circle = vec![(*left.keys().next()?).to_owned()];
    loop {
        let last = circle.last().expect("never empty");
        let next = left[last.as_str()]
            .iter()
            .find(|name| left.contains_key(name.as_str()))
            .expect("it needs one that is left");
        if let Some(at) = circle.iter().position(|id| id == next) {
            let mut found = circle.split_off(at);
            found.push(found[0].clone());
            return Some(found);
        }
        circle.push(next.clone());
    }
}

/// The value with the branch of each `Fn::If` that this stack takes, and the other functions as they are.
fn chosen_branches(stack: &Stack<'_>, value: &Value) -> Value {
    match value {
        Value::Object(map) => match map.get("Fn::If") {
            Some(choice) => {
                let branch = if stack.holds(choice[0].as_str().expect("a condition")) {
                    1
                } else {
                    2
                };
                chosen_branches(stack, &choice[branch])
            }
            None => map
                .iter()
                .map(|(name, value)| (name.clone(), chosen_branches(stack, value)))
                .collect(),
        },
        Value::Array(list) => list.iter().map(|item| chosen_branches(stack, item)).collect(),
        other => other.clone(),
    }
}

/// The names that `Ref`, `Fn::GetAtt` and `Fn::Sub` use in a part of the template.
fn references(part: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for_each_named(part, "Ref", &mut |name| {
        names.extend(name.as_str().map(str::to_owned));
    });
    for_each_named(part, "Fn::GetAtt", &mut |path| {
        let path = path.as_str().or(path[0].as_str()).expect("a path");
        names.extend(path.split('.').next().map(str::to_owned));
    });
    for_each_named(part, "Fn::Sub", &mut |argument| {
        let text = argument.as_str().or(argument[0].as_str()).expect("a text");
        for after in text.split("${").skip(1) {
            let name = after.split('}').next().unwrap_or_default();
            names.extend(
                name.split('.')
                    .next()
                    .filter(|name| !name.starts_with('!'))
                    .map(str::to_owned),
            );
        }
    });
    names
}
