//! A stack as `CloudFormation` would create it: a processed template with the values of its parameters, every condition
//! decided and every intrinsic function resolved.

use std::{cell::RefCell, collections::BTreeMap};

use serde_json::{Map, Value, json};

use crate::physical::{attribute_of, name_of};

pub(crate) const ACCOUNT: &str = "123456789012";
/// The region of the stacks. Some names contain it, and no region has a longer name.
pub(crate) const REGION: &str = "ap-southeast-1";
/// The name of the stacks: the longest that the guide allows, of 40 characters. `CloudFront` takes 64 for the name of a
/// function, which has the region too.
const STACK_NAME: &str = "a-stack-name-that-has-forty-characters-x";

/// A resource that the stack creates.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) kind: String,
    /// What `Ref` returns.
    pub(crate) name: Value,
    /// Nothing for a type whose ARN no part of the template uses.
    pub(crate) arn: Value,
    /// Without the properties that are `AWS::NoValue`.
    pub(crate) properties: Value,
}

/// A stack with one set of parameters.
#[derive(Debug)]
pub(crate) struct Stack<'a> {
    /// The processed template.
    pub(crate) template: &'a Value,
    pub(crate) resources: BTreeMap<String, Resource>,
    parameters: BTreeMap<String, Value>,
    conditions: RefCell<BTreeMap<String, bool>>,
    region: String,
    /// References to resources that this stack does not create, each with the place that has it.
    missing: RefCell<Vec<String>>,
}

impl<'a> Stack<'a> {
    /// Resolves a processed template. The parameters that `given` does not name have their defaults.
    pub(crate) fn new(template: &'a Value, given: &[(&str, &str)]) -> Self {
        let mut stack = Self::undecided(template, given, REGION);
        let created = |resource: &&Value| stack.is_created(resource);
        let resources = object(&template["Resources"])
            .iter()
            .filter(|(_, resource)| created(resource));
        let resources = resources.map(|(id, resource)| {
            let properties = stack
                .resolve_at(id, &resource["Properties"])
                .unwrap_or(Value::Null);
            let (name, arn) = (
                json!(name_of(&stack, id, resource)),
                attribute_of(&stack, id, resource, "Arn"),
            );
            (
                id.clone(),
                Resource {
                    kind: text_of(&resource["Type"]),
                    name,
                    arn,
                    properties,
                },
            )
        });
        let resources = resources.collect();
        let outputs = object(&template["Outputs"])
            .iter()
            .filter(|(_, output)| created(output));
        for (id, output) in outputs {
            stack.resolve_at(id, &output["Value"]);
        }
        stack.resources = resources;
        stack
    }

    /// A stack whose resources are not resolved. [`resolve`](Self::resolve) resolves a part of it.
    pub(crate) fn undecided(template: &'a Value, given: &[(&str, &str)], region: &str) -> Self {
        let mut parameters: BTreeMap<String, Value> = object(&template["Parameters"])
            .iter()
            .map(|(name, parameter)| (name.clone(), json!(text_of(&parameter["Default"]))))
            .collect();
        for (name, value) in given {
            let known = parameters.insert((*name).to_owned(), json!(value));
            assert!(known.is_some(), "the template has no parameter {name}");
        }
        Self {
            template,
            resources: BTreeMap::new(),
            parameters,
            conditions: RefCell::default(),
            region: region.to_owned(),
            missing: RefCell::default(),
        }
    }

    /// The value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        let value = self.parameters.get(name).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("the template has no parameter {name}"))
    }

    /// The resources of a type, each with its properties.
    pub(crate) fn of_kind<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = (&'b str, &'b Value)> {
        let resources = self
            .resources
            .iter()
            .filter(move |(_, resource)| resource.kind == kind);
        resources.map(|(id, resource)| (id.as_str(), &resource.properties))
    }

    /// The properties of the resource of a type that has this name or ARN.
    pub(crate) fn find(&self, kind: &str, name: &Value) -> Option<&Value> {
        let mut resources = self.resources.values();
        let found = resources
            .find(|resource| resource.kind == kind && (resource.name == *name || resource.arn == *name));
        found.map(|resource| &resource.properties)
    }

    /// References to resources that this stack does not create.
    pub(crate) fn missing_references(&self) -> Vec<String> {
        self.missing.borrow().clone()
    }

    /// Whether the rules of the template accept the parameters.
    pub(crate) fn refused_by(&self) -> Vec<String> {
        let mut refused = Vec::new();
        for (name, rule) in object(&self.template["Rules"]) {
            if !rule["RuleCondition"].is_null() && !self.is_true(&rule["RuleCondition"]) {
                continue;
            }
            for assertion in rule["Assertions"].as_array().expect("assertions") {
                if !self.is_true(&assertion["Assert"]) {
                    refused.push(format!("{name}: {}", text_of(&assertion["AssertDescription"])));
                }
            }
        }
        refused
    }

    /// Whether a condition of the template holds.
    pub(crate) fn holds(&self, condition: &str) -> bool {
        if let Some(known) = self.conditions.borrow().get(condition) {
            return *known;
        }
        let expression = &self.template["Conditions"][condition];
        assert!(!expression.is_null(), "the template has no condition {condition}");
        let holds = self.is_true(expression);
        self.conditions.borrow_mut().insert(condition.to_owned(), holds);
        holds
    }

    fn is_created(&self, resource: &Value) -> bool {
        resource["Condition"]
            .as_str()
            .is_none_or(|condition| self.holds(condition))
    }

    fn is_true(&self, expression: &Value) -> bool {
        let (name, argument) =
            single_entry(expression).unwrap_or_else(|| panic!("no condition: {expression}"));
        let all = || {
            argument
                .as_array()
                .unwrap_or_else(|| panic!("no list: {argument}"))
        };
        match name {
            "Condition" => self.holds(argument.as_str().expect("a name")),
            "Fn::Equals" => {
                self.resolve(&all()[0]).map(|value| text_of(&value))
                    == self.resolve(&all()[1]).map(|value| text_of(&value))
            }
            "Fn::Not" => !self.is_true(&all()[0]),
            "Fn::And" => all().iter().all(|part| self.is_true(part)),
            "Fn::Or" => all().iter().any(|part| self.is_true(part)),
            other => panic!("an unknown condition {other}"),
        }
    }

    /// Resolves a value of the resource or output `id`.
    fn resolve_at(&self, id: &str, value: &Value) -> Option<Value> {
        let before = self.missing.borrow().len();
        let resolved = self.resolve(value);
        for reference in &mut self.missing.borrow_mut()[before..] {
            *reference = format!("{id} refers to {reference}, which the stack does not create");
        }
        resolved
    }

    /// The value with all intrinsic functions resolved. `None` for `AWS::NoValue`.
    pub(crate) fn resolve(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Array(items) => Some(items.iter().filter_map(|item| self.resolve(item)).collect()),
            Value::Object(map) => match single_entry(value) {
                Some(("Ref", name)) => self.reference(name.as_str().expect("a name")),
                Some((name, argument)) if name.starts_with("Fn::") => self.call(name, argument),
                _ => {
                    let entries = map
                        .iter()
                        .filter_map(|(name, value)| Some((name.clone(), self.resolve(value)?)));
                    Some(Value::Object(entries.collect::<Map<_, _>>()))
                }
            },
            other => Some(other.clone()),
        }
    }

    fn call(&self, function: &str, argument: &Value) -> Option<Value> {
        if function == "Fn::If" {
            let branch = if self.holds(argument[0].as_str().expect("a condition")) {
                1
            } else {
                2
            };
            return self.resolve(&argument[branch]);
        }
        Some(match function {
            "Fn::Sub" => json!(self.substitute(argument)),
            "Fn::GetAtt" => {
                let path = match argument {
                    Value::String(path) => path.clone(),
                    parts => format!("{}.{}", text_of(&parts[0]), text_of(&parts[1])),
                };
                let (id, attribute) = path.split_once('.').expect("a resource and an attribute");
                self.attribute(id, attribute)
            }
            "Fn::Join" => {
                let parts = self.resolve(&argument[1])?;
                let parts: Vec<String> = parts.as_array().expect("a list").iter().map(text_of).collect();
                json!(parts.join(&text_of(&argument[0])))
            }
            "Fn::Split" => {
                let text = text_of(&self.resolve(&argument[1])?);
                text.split(&text_of(&argument[0])).map(Value::from).collect()
            }
            "Fn::Select" => {
                let index: usize = text_of(&self.resolve(&argument[0])?).parse().expect("an index");
                let list = self.resolve(&argument[1])?;
                let item = list.get(index).cloned();
                item.unwrap_or_else(|| panic!("no item {index} of {argument}"))
            }
            "Fn::FindInMap" => {
                let keys = self.resolve(argument)?;
                let key = |index: usize| text_of(&keys[index]);
                let found = &self.template["Mappings"][key(0)][key(1)][key(2)];
                if found.is_null() && keys[3].is_object() {
                    return Some(keys[3]["DefaultValue"].clone());
                }
                assert!(!found.is_null(), "no mapping {keys}");
                found.clone()
            }
            "Fn::GetAZs" => json!([
                format!("{}a", self.region),
                format!("{}b", self.region),
                format!("{}c", self.region)
            ]),
            other => panic!("an unknown function {other}"),
        })
    }

    /// `Fn::Sub`: `${Name}`, `${Resource.Attribute}`, and `${!Literal}`.
    fn substitute(&self, argument: &Value) -> String {
        let (text, given) = match argument {
            Value::String(text) => (text.as_str(), &Value::Null),
            list => (list[0].as_str().expect("a text"), &list[1]),
        };
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            result.push_str(before);
            let (name, after) = after.split_once('}').expect("a closing brace");
            rest = after;
            let value = match (name.strip_prefix('!'), name.split_once('.')) {
                (Some(literal), _) => format!("${{{literal}}}"),
                _ if !given[name].is_null() => self
                    .resolve(&given[name])
                    .map(|value| text_of(&value))
                    .unwrap_or_default(),
                (None, Some((id, attribute))) => text_of(&self.attribute(id, attribute)),
                (None, None) => self
                    .reference(name)
                    .map(|value| text_of(&value))
                    .unwrap_or_default(),
            };
            result.push_str(&value);
        }
        result + rest
    }

    /// `Ref` of a parameter, a pseudo parameter or a resource.
    fn reference(&self, name: &str) -> Option<Value> {
        Some(match name {
            "AWS::NoValue" => return None,
            "AWS::Region" => json!(self.region),
            "AWS::AccountId" => json!(ACCOUNT),
            "AWS::Partition" => json!("aws"),
            "AWS::URLSuffix" => json!("amazonaws.com"),
            "AWS::StackName" => json!(STACK_NAME),
            "AWS::StackId" => json!(format!(
                "arn:aws:cloudformation:{}:{ACCOUNT}:stack/{}/0a1b2c3d-1111-2222-3333-444455556666",
                self.region, STACK_NAME
            )),
            _ => match self.parameters.get(name) {
                Some(value) => value.clone(),
                None => json!(name_of(self, name, self.declared(name))),
            },
        })
    }

    /// `Fn::GetAtt`.
    fn attribute(&self, id: &str, attribute: &str) -> Value {
        attribute_of(self, id, self.declared(id), attribute)
    }

    /// The resource in the template. Remembers a reference to one that this stack does not create.
    fn declared(&self, id: &str) -> &Value {
        let resource = &self.template["Resources"][id];
        if resource.is_null() || !self.is_created(resource) {
            self.missing.borrow_mut().push(id.to_owned());
        }
        resource
    }

    /// The ARN of something in this account and region.
    pub(crate) fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{ACCOUNT}:{resource}", self.region)
    }

    /// The name by which `CloudFormation` calls a resource that has no name of its own.
    pub(crate) fn generated_name(id: &str) -> String {
        format!("{STACK_NAME}-{id}-0123456789AB")
    }
}

/// The entries of an object. Nothing for `null`.
pub(crate) fn object(value: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    value.as_object().unwrap_or(&EMPTY)
}

/// A scalar as text, as `CloudFormation` passes it on.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The items of a value that is a list, or one item.
pub(crate) fn items(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().collect(),
        one => vec![one],
    }
}

/// The name and the value of an object with one entry.
pub(crate) fn single_entry(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.iter().next().map(|(name, value)| (name.as_str(), value))
}
