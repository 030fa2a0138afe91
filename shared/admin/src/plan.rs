//! The command `plan`: computes settings for a demand, or for a crowd. It reads and changes no queue.

use serde_json::{Map, Value, json};
use vestibule_domain::{
    crowd_sizing::{
        cost::{CostItem, CrowdCost},
        facts::FACTS_OF,
        part_load::PartLoad,
        sizing::{Cache, CrowdDemand, CrowdSizing},
    },
    plan::{Demand, Interval, SizingPlan},
    settings::Settings,
};

use super::{
    Problem, command::Command, command_fields::CommandFields, parsed_command::ParsedCommand,
    plan_order::PlanOrder,
};

/// The default of `interval_seconds`: how often a batch of visitors is let in.
const DEFAULT_INTERVAL_SECONDS: u32 = 10;
/// What counts for a crowd as long as its owner does not know better: the time in which it comes, the mean wait and the length
/// of a session.
const ASSUMED_ARRIVAL_SECONDS: u32 = 1_800;
const ASSUMED_WAIT_MINUTES: u32 = 30;
const ASSUMED_SESSION_SECONDS: u32 = 300;
/// The most calls that a visitor makes in one session.
const CALLS_MAX: u32 = 100_000;

/// The field with the time in which a crowd comes.
const ARRIVAL: &str = "arrival_seconds";

/// The fields of a protected service that a crowd lacks.
const SERVICE_FIELDS: [&str; 6] = [
    "tps",
    "calls",
    "failure_percent",
    "margin_percent",
    "interval_seconds",
    "target_load",
];

impl CommandFields {
    /// Reads the fields of a crowd if there is one (`visitors`), and else those of a demand.
    pub(super) fn plan_order(&mut self) -> Result<PlanOrder, Problem> {
        match self.optional_integer_in_range("visitors", 1..=100_000_000)? {
            Some(visitors) => self.crowd(visitors),
            None => self.demand().map(PlanOrder::Service),
        }
    }

    fn crowd(&mut self, visitors: u32) -> Result<PlanOrder, Problem> {
        let mut assumed = Map::new();
        let mut assume = |fields: &mut Self, name: &str, value: u32, range| {
            let given = fields.optional_integer_in_range(name, range)?;
            if given.is_none() {
                assumed.insert(name.to_owned(), value.into());
            }
            Ok::<_, Problem>(given.unwrap_or(value))
        };
        let arrival_seconds = assume(self, ARRIVAL, ASSUMED_ARRIVAL_SECONDS, 1..=86_400)?;
        let wait_minutes = assume(self, "wait_minutes", ASSUMED_WAIT_MINUTES, 0..=1_440)?;
        let session_seconds = assume(self, "session_seconds", ASSUMED_SESSION_SECONDS, 1..=86_400)?;
        let cache = match self.string("cache")?.as_deref() {
            None | Some("serverless") => Cache::Serverless,
            Some("node") => Cache::Node,
            Some(_) => return Err(Problem::invalid_field("cache", "must be serverless or node")),
        };
        let demand = CrowdDemand {
            visitors,
            arrival_seconds,
            wait_seconds: 60 * wait_minutes,
            session_seconds,
            checks: self.integer_in_range("checks", Some(0), 0..=10_000)?,
            cache,
            has_cdn: !self.flag("without_cdn")?,
        };
        self.refuse_service_fields()?;
        Ok(PlanOrder::Crowd(demand, assumed))
    }

    /// Refuses the fields of a protected service beside those of a crowd.
    fn refuse_service_fields(&mut self) -> Result<(), Problem> {
        let mut first_given = None;
        for name in SERVICE_FIELDS {
            match self.take(name) {
                None | Some(Value::Null) => {}
                Some(Value::Number(_)) => first_given = first_given.or(Some(name)),
                Some(_) => return Err(Problem::invalid_field(name, "must be a number")),
            }
        }
        let reason = "sizes a queue for a service, and visitors for a crowd, so give one of the two";
        first_given.map_or(Ok(()), |name| Err(Problem::invalid_field(name, reason)))
    }

    /// Reads the required fields `tps`, `calls` and `session_seconds`, and the optional fields
    /// `failure_percent`, `margin_percent`, and `interval_seconds` or `target_load`.
    pub(super) fn demand(&mut self) -> Result<Demand, Problem> {
        Ok(Demand {
            tps: self.integer_in_range("tps", None, 1..=10_000_000)?,
            milli_calls: self.thousandths("calls", CALLS_MAX)?,
            session_seconds: self.integer_in_range("session_seconds", None, 1..=86_400)?,
            failure_percent: self.integer_in_range("failure_percent", Some(0), 0..=100)?,
            margin_percent: self.integer_in_range("margin_percent", Some(0), 0..=99)?,
            interval: self.interval()?,
        })
    }

    fn interval(&mut self) -> Result<Interval, Problem> {
        let seconds = self.optional_integer_in_range("interval_seconds", 1..=3_600)?;
        let batches = self.optional_integer_in_range("target_load", 1..=86_400)?;
        match (seconds, batches) {
            (Some(_), Some(_)) => Err(Problem::invalid_field(
                "target_load",
                "gives the interval, so leave out interval_seconds, or target_load",
            )),
            (seconds, None) => Ok(Interval::Seconds(seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS))),
            (None, Some(batches)) => Ok(Interval::TargetLoad(batches)),
        }
    }
}

/// Carries out a command `plan` without a deployment: it needs none.
///
/// # Errors
/// [`Problem`] with the name of the field that is wrong, or if the command is another one.
pub fn plan_without_deployment(command: Value) -> Result<Value, Problem> {
    match ParsedCommand::parse(command)?.command {
        Command::Plan(order) => plan(&order),
        _ => Err(Problem::invalid_field("op", "must be plan")),
    }
}

/// Computes what an order asks for.
pub(super) fn plan(order: &PlanOrder) -> Result<Value, Problem> {
    match order {
        PlanOrder::Service(demand) => plan_settings(demand),
        PlanOrder::Crowd(crowd, assumed) => plan_crowd(*crowd, assumed.clone()),
    }
}

/// Computes settings for a crowd, what it asks of each part of a deployment, and what it costs. Refused if the
/// line cannot take the crowd in as fast as it is said to come. If that is only `assumed`, the crowd comes as fast as the line can.
fn plan_crowd(mut demand: CrowdDemand, mut assumed: Map<String, Value>) -> Result<Value, Problem> {
    let settings = Settings::default();
    let mut sizing = CrowdSizing::for_crowd(&demand, &settings);
    if let Err(too_fast) = &sizing
        && let Some(arrival_seconds) = assumed.get_mut(ARRIVAL)
    {
        demand.arrival_seconds = too_fast.seconds;
        *arrival_seconds = too_fast.seconds.into();
        sizing = CrowdSizing::for_crowd(&demand, &settings);
    }
    let sizing = sizing.map_err(|error| Problem::invalid_field(ARRIVAL, error.to_string()))?;
    let cost = CrowdCost::of_crowd(&demand, &sizing, &settings);
    Ok(json!({
        "assumed": assumed,
        "settings": {
            "capacity": sizing.capacity,
            "batch": sizing.batch,
            "interval_seconds": sizing.interval_seconds,
            "session_seconds": demand.session_seconds,
        },
        "visitors_per_hour": (sizing.pace * 3_600.0).floor(),
        "visitors_per_hour_max": (sizing.pace_max * 3_600.0).floor(),
        "wait_minutes_mean": rounded(sizing.wait_mean_seconds / 60.0),
        "wait_minutes_longest": rounded(sizing.wait_longest_seconds / 60.0),
        "parts": sizing.parts.iter().map(describe_part).collect::<Vec<_>>(),
        "requests_per_visitor": rounded(cost.requests_per_visitor),
        "document_reads_per_visitor": rounded(cost.document_reads_per_visitor),
        "cost": {
            "currency": "USD",
            "prices_of": FACTS_OF,
            "total": rounded(cost.dollars()),
            "items": cost.items.iter().map(describe_item).collect::<Vec<_>>(),
        },
    }))
}

fn describe_part(part: &PartLoad) -> Value {
    let mut described = json!({
        "part": part.part,
        "unit": part.unit,
        "needed": rounded(part.used),
        "given": part.ceiling,
        "source": part.source,
        "share": rounded(part.share()),
    });
    // A part that is nearly full has nothing left for what comes unevenly.
    if part.is_too_small() {
        described["remedy"] = json!(part.remedy);
    }
    described
}

fn describe_item(item: &CostItem) -> Value {
    json!({
        "what": item.what,
        "units": item.units.round(),
        "dollars": rounded(item.dollars()),
        "page": item.price.source,
    })
}

/// A number with two decimals.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Computes settings for `create` that meet a demand.
fn plan_settings(demand: &Demand) -> Result<Value, Problem> {
    let plan =
        SizingPlan::for_demand(demand).map_err(|error| Problem::invalid_field(error.field, error.reason))?;
    Ok(json!({ "settings": {
        "capacity": plan.capacity,
        "batch": plan.batch,
        "interval_seconds": plan.interval_seconds,
        "session_seconds": demand.session_seconds,
    } }))
}
