//! The cases of `web/client/tests/cases.json`, which the shipped client runs, too. `docs/testing.md` says how to add a case.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use vestibule_domain::state::EntryState;
use vestibule_wire::{Code, problem::Audience};

use super::{
    Chance, Connection, Follower, FollowerOptions, LowestPosition, Phase, Refusal, RequestKind, Screen,
};

const CASES: &str = include_str!("../../../../web/client/tests/cases.json");
const TOLERANCE_MS: f64 = 0.001;

type Row = Map<String, Value>;

#[derive(Deserialize)]
struct CaseFile {
    entries: Row,
    documents: Row,
    tables: BTreeMap<String, Vec<Row>>,
    cases: Vec<Value>,
}

/// A rule, with what a follower meets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    rule: String,
    random: Option<f64>,
    #[serde(default)]
    spread: bool,
    #[serde(default)]
    hidden: bool,
    steps: Vec<Step>,
}

/// An event at a time, and what is expected after it. Without an event, only time has passed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at_ms: f64,
    join: Option<Place>,
    forget: Option<Place>,
    ask_spread: Option<Row>,
    wake: Option<Waking>,
    entry: Option<Answer>,
    document: Option<Answer>,
    refusal: Option<RefusedRequest>,
    #[serde(default, deserialize_with = "read_next")]
    next: Option<Next>,
    screen: Option<Row>,
    is_sooner: Option<bool>,
}

/// A stored place. Without a token there is none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    token: Option<String>,
    visit: Option<u64>,
    position: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Waking {
    Shown,
    Reconnected,
}

/// The name of an answer, with changes in it, and the request that it is an answer to.
#[derive(Deserialize)]
struct Answer {
    base: String,
    #[serde(default = "Kind::of_status")]
    of: Kind,
    #[serde(flatten)]
    changes: Row,
}

/// A request that was not carried out, with the body of the answer.
#[derive(Deserialize)]
struct RefusedRequest {
    of: Kind,
    status: u16,
    #[serde(default)]
    retry_after_ms: Option<f64>,
    #[serde(flatten)]
    body: Row,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Enter,
    Status,
    Claim,
    Document,
}

/// The next request, when to send it, and for how many seconds the server may hold it. `null`: the visit is over.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Next {
    Never,
    Answered(Kind, f64),
    Held(Kind, f64, u32),
}

/// An absent member says nothing, and `null` does.
fn read_next<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Next>, D::Error> {
    Next::deserialize(from).map(Some)
}

impl Kind {
    fn of_status() -> Self {
        Self::Status
    }

    fn of(kind: RequestKind) -> (Self, u32) {
        match kind {
            RequestKind::Enter => (Self::Enter, 0),
            RequestKind::Status { hold_seconds } => (Self::Status, hold_seconds),
            RequestKind::Claim => (Self::Claim, 0),
            RequestKind::Document => (Self::Document, 0),
        }
    }

    fn request(self) -> RequestKind {
        match self {
            Self::Enter => RequestKind::Enter,
            Self::Status => RequestKind::Status { hold_seconds: 0 },
            Self::Claim => RequestKind::Claim,
            Self::Document => RequestKind::Document,
        }
    }
}

/// The changes in a base: those of an object are merged, and `null` removes a member (RFC 7396).
fn merge(base: &mut Value, changes: &Value) {
    let Value::Object(changes) = changes else {
        return base.clone_from(changes);
    };
    if !base.is_object() {
        *base = json!({});
    }
    for (name, change) in changes {
        match base.as_object_mut() {
            Some(members) if change.is_null() => drop(members.remove(name)),
            _ => merge(&mut base[name], change),
        }
    }
}

/// The named answer with the changes. Its base may have a base, too.
fn complete<T: DeserializeOwned>(named: &Row, base: &str, changes: &Row) -> T {
    fn assemble(named: &Row, base: &str, changes: &Row) -> Value {
        let mut members = named[base].as_object().expect("an answer is an object").clone();
        let mut whole = match members.remove("base") {
            Some(Value::String(further)) => assemble(named, &further, &members),
            _ => members.into(),
        };
        merge(&mut whole, &changes.clone().into());
        whole
    }
    serde_json::from_value(assemble(named, base, changes)).expect("the answer is complete")
}

/// The value with the row's values in place of the texts that name its columns.
fn replace_columns(value: &Value, row: &Row) -> Value {
    match value {
        Value::String(name) => row.get(name).unwrap_or(value).clone(),
        Value::Array(items) => items.iter().map(|item| replace_columns(item, row)).collect(),
        Value::Object(members) => {
            let replaced = members
                .iter()
                .map(|(name, member)| (name.clone(), replace_columns(member, row)));
            Value::Object(replaced.collect())
        }
        _ => value.clone(),
    }
}

impl CaseFile {
    fn read() -> Self {
        serde_json::from_str(CASES).expect("the cases can be read")
    }

    /// The case for each row of its table `each`, with the row. A text in place of a row names a table of the file.
    fn expand(&self, template: &Value) -> Vec<(Case, Row)> {
        let mut template = template.clone();
        let each = template
            .as_object_mut()
            .and_then(|members| members.remove("each"));
        let each = each.unwrap_or_else(|| json!([{}]));
        let rows = each
            .as_array()
            .expect("`each` is a list")
            .iter()
            .flat_map(|row| match row {
                Value::String(table) => self.tables[table].clone(),
                row => vec![row.as_object().expect("a row is an object").clone()],
            });
        let expanded = rows.map(|row| {
            let case = serde_json::from_value(replace_columns(&template, &row));
            (case.unwrap_or_else(|error| panic!("{error}: {template}")), row)
        });
        expanded.collect()
    }

    /// Takes the event of a step. Returns whether the next request is due sooner, if it is a waking.
    fn take(&self, follower: &mut Follower, step: &Step) -> Option<bool> {
        let at_ms = step.at_ms;
        if step.forget.is_some() {
            follower.forget_entry(at_ms);
        }
        if let Some(place) = step.join.as_ref().or(step.forget.as_ref()) {
            let lowest = place.visit.zip(place.position);
            let lowest = lowest.map(|(visit, position)| LowestPosition { visit, position });
            match place.token.clone() {
                Some(token) => follower.join_stored(token, lowest, at_ms),
                None => follower.join(None, at_ms),
            }
        }
        if step.ask_spread.is_some() {
            follower.ask_spread(at_ms);
        }
        if let Some(Answer { base, of, changes }) = &step.entry {
            follower.receive_entry(
                of.request(),
                Box::new(complete(&self.entries, base, changes)),
                at_ms,
            );
        }
        if let Some(Answer { base, changes, .. }) = &step.document {
            let document = Arc::new(complete(&self.documents, base, changes));
            follower.receive_document(&document, at_ms);
        }
        if let Some(refused) = &step.refusal {
            let body = serde_json::to_vec(&refused.body).expect("the body is JSON");
            let retry_after_ms = refused.retry_after_ms.unwrap_or_default();
            let refusal = Refusal::from_answer(refused.status, retry_after_ms, &body);
            follower.receive_refusal(refused.of.request(), &refusal, at_ms);
        }
        step.wake
            .map(|waking| follower.wake(at_ms, waking == Waking::Reconnected))
    }

    /// The first difference between what the case expects and what its follower does.
    fn run(&self, case: &Case) -> Result<(), String> {
        let options = FollowerOptions {
            is_spreading: case.spread,
            is_visible: !case.hidden,
            ..FollowerOptions::default()
        };
        let chance = Chance::Fixed(case.random.unwrap_or(0.5));
        let mut follower = Follower::new(options, chance, case.steps[0].at_ms);
        for (n, step) in case.steps.iter().enumerate() {
            let is_sooner = self.take(&mut follower, step);
            let found = check(&follower, step, is_sooner);
            found.map_err(|found| format!("step {}, at {} ms: {found}", n + 1, step.at_ms))?;
        }
        Ok(())
    }
}

/// Compares a step with what it expects. A screen is compared by what the step names of it.
fn check(follower: &Follower, step: &Step, is_sooner: Option<bool>) -> Result<(), String> {
    if let Some(next) = step.next {
        let expected = match next {
            Next::Never => None,
            Next::Answered(kind, at_ms) => Some((kind, at_ms, 0)),
            Next::Held(kind, at_ms, hold_seconds) => Some((kind, at_ms, hold_seconds)),
        };
        let request = follower.next_request();
        let (kind, hold_seconds) = Kind::of(request.kind);
        let found = (!follower.has_ended()).then_some((kind, request.at_ms, hold_seconds));
        let is_same = match (found, expected) {
            (Some(found), Some(expected)) => {
                (found.0, found.2) == (expected.0, expected.2) && (found.1 - expected.1).abs() < TOLERANCE_MS
            }
            (found, expected) => found.is_none() && expected.is_none(),
        };
        if !is_same {
            return Err(format!("next is {found:?}, and not {expected:?}"));
        }
    }
    let shown = show(&follower.screen(step.at_ms));
    for (name, expected) in step.screen.iter().flatten() {
        if shown.get(name) != Some(expected) {
            return Err(format!("{name} is {:?}, and not {expected}", shown.get(name)));
        }
    }
    if step.is_sooner.is_some() && is_sooner != step.is_sooner {
        return Err(format!("is_sooner is {is_sooner:?}"));
    }
    Ok(())
}

/// What the visitor sees, in the words of the cases.
fn show(screen: &Screen) -> Value {
    let status = match (screen.phase, screen.state) {
        (Phase::Joining, _) => "joining",
        (Phase::Failed, _) => "failed",
        // The queue is over: the entry keeps its last state.
        (Phase::Ended, state) if state.is_none_or(EntryState::is_live) => "finished",
        (_, state) => state.map_or("joining", EntryState::name),
    };
    let connection = match screen.connection {
        Connection::Online => "online",
        Connection::Retrying => "retrying",
        Connection::Stale => "stale",
    };
    json!({
        "status": status,
        "connection": connection,
        "position": screen.position,
        "ahead": screen.ahead,
        "ahead_is_expected": screen.is_ahead_expected,
        "estimate": screen.estimate.map(|range| [range.low, range.high]),
        "is_called": screen.is_called,
    })
}

#[test]
fn the_rules_are_those_of_the_shipped_client() {
    let file = CaseFile::read();
    let cases = file.cases.iter().flat_map(|template| file.expand(template));
    let failures: Vec<_> = cases
        .filter_map(|(case, row)| {
            let found = file.run(&case).err()?;
            Some(format!("{} {}\n    {found}", case.rule, Value::Object(row)))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} cases fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// A new code that a visitor may meet needs a rule: whether it ends the visit, refuses the visitor, or is retried.
#[test]
fn every_code_that_a_visitor_may_meet_is_in_a_case() {
    let met = Code::ALL.iter().filter(|code| {
        matches!(
            code.audience(),
            Audience::Api | Audience::Both | Audience::Gateway
        )
    });
    let names = met.map(|code| code.name());
    let missing: Vec<_> = names
        .filter(|name| !CASES.contains(&format!("\"{name}\"")))
        .collect();
    assert_eq!(missing, [""; 0]);
}
