//! The command `plan`: computes settings for a demand, or for a crowd. It reads and changes no queue.

use serde_json::{Map, Value};
use vestibule_domain::settings::Settings;
use vestibule_sizing::{
    cost::{CostItem, CrowdCost},
    crowd_sizing::{Cache, CrowdDemand, CrowdSizing},
    facts::FACTS_OF,
    part_load::PartLoad,
    service::{Demand, Interval, SizingPlan},
};
use vestibule_wire::results::{
    BillItem, CrowdBill, CrowdPlan, PartPlan, PlannedSettings, ServicePlan, to_value,
};

use vestibule_wire::commands::{CacheKind, OneOf, PlanOrder, Whole};

use super::problem::Problem;

/// The default of `interval_seconds`: how often a batch of visitors is let in.
const DEFAULT_INTERVAL_SECONDS: u32 = 10;
/// What counts for a crowd as long as its owner does not know better: the time in which it comes, the mean wait and the length
/// of a session.
const ASSUMED_ARRIVAL_SECONDS: u32 = 1_800;
const ASSUMED_WAIT_MINUTES: u32 = 30;
const ASSUMED_SESSION_SECONDS: u32 = 300;
/// The field with the time in which a crowd comes.
const ARRIVAL: &str = "arrival_seconds";

/// What the settings of a queue are computed from.
pub(super) enum Sizing {
    /// What the protected service can do.
    Service(Demand),
    /// The crowd that is expected, and the fields that were not given, with the values that count instead.
    Crowd(CrowdDemand, Map<String, Value>),
}

impl Sizing {
    /// The crowd of an order if it has one (`visitors`), and else the service.
    ///
    /// # Errors
    /// A field is missing, or is of the other one.
    pub(super) fn of(order: &PlanOrder) -> Result<Self, Problem> {
        let of_service = [
            ("tps", order.tps.is_some()),
            ("calls", order.calls.is_some()),
            ("failure_percent", order.failure_percent.is_some()),
            ("margin_percent", order.margin_percent.is_some()),
            ("interval_seconds", order.interval_seconds.is_some()),
            ("target_load", order.target_load.is_some()),
        ];
        let of_crowd = [
            (ARRIVAL, order.arrival_seconds.is_some()),
            ("wait_minutes", order.wait_minutes.is_some()),
            ("checks", order.checks.is_some()),
            ("cache", order.cache.is_some()),
            ("without_cdn", order.without_cdn.is_some()),
        ];
        let refuse = |fields: &[(&str, bool)], reason: &str| {
            let given = fields.iter().find(|(_, is_given)| *is_given);
            given.map_or(Ok(()), |(name, _)| Err(Problem::invalid_field(name, reason)))
        };
        if let Some(visitors) = order.visitors {
            refuse(
                &of_service,
                "sizes a queue for a service, and visitors for a crowd, so give one of the two",
            )?;
            return Ok(Self::of_crowd(order, visitors.get()));
        }
        refuse(&of_crowd, "is of a crowd; give visitors, too")?;
        read_demand(order).map(Self::Service)
    }

    fn of_crowd(order: &PlanOrder, visitors: u32) -> Self {
        let mut assumed = Map::new();
        let mut assume = |name: &str, given: Option<u32>, value: u32| {
            if given.is_none() {
                assumed.insert(name.to_owned(), value.into());
            }
            given.unwrap_or(value)
        };
        let given = |seconds: Option<Whole<1, 86_400>>| seconds.map(Whole::get);
        let arrival_seconds = assume(ARRIVAL, given(order.arrival_seconds), ASSUMED_ARRIVAL_SECONDS);
        let wait_minutes = assume(
            "wait_minutes",
            order.wait_minutes.map(Whole::get),
            ASSUMED_WAIT_MINUTES,
        );
        let session_seconds = assume(
            "session_seconds",
            given(order.session_seconds),
            ASSUMED_SESSION_SECONDS,
        );
        let demand = CrowdDemand {
            visitors,
            arrival_seconds,
            wait_seconds: 60 * wait_minutes,
            session_seconds,
            checks: order.checks.map_or(0, Whole::get),
            cache: match order.cache {
                None | Some(OneOf(CacheKind::Serverless)) => Cache::Serverless,
                Some(OneOf(CacheKind::Node)) => Cache::Node,
            },
            has_cdn: !order.without_cdn.unwrap_or_default(),
        };
        Self::Crowd(demand, assumed)
    }
}

/// Reads the fields of a service.
fn read_demand(order: &PlanOrder) -> Result<Demand, Problem> {
    let missing = |name: &str| {
        let reason = "is missing; a service needs tps, calls and session_seconds, and a crowd visitors";
        Problem::invalid_field(name, reason)
    };
    let interval = match (order.interval_seconds, order.target_load) {
        (Some(_), Some(_)) => {
            return Err(Problem::invalid_field(
                "target_load",
                "gives the interval, so leave out interval_seconds, or target_load",
            ));
        }
        (seconds, None) => Interval::Seconds(seconds.map_or(DEFAULT_INTERVAL_SECONDS, Whole::get)),
        (None, Some(batches)) => Interval::TargetLoad(batches.get()),
    };
    Ok(Demand {
        tps: order.tps.ok_or_else(|| missing("tps"))?.get(),
        milli_calls: order.calls.ok_or_else(|| missing("calls"))?.in_thousandths(),
        session_seconds: order
            .session_seconds
            .ok_or_else(|| missing("session_seconds"))?
            .get(),
        failure_percent: order.failure_percent.map_or(0, Whole::get),
        margin_percent: order.margin_percent.map_or(0, Whole::get),
        interval,
    })
}

/// Computes what an order asks for.
pub(super) fn plan(order: &PlanOrder) -> Result<Value, Problem> {
    match Sizing::of(order)? {
        Sizing::Service(demand) => plan_settings(&demand),
        Sizing::Crowd(crowd, assumed) => plan_crowd(crowd, assumed),
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
    Ok(to_value(CrowdPlan {
        assumed,
        settings: PlannedSettings {
            capacity: sizing.capacity,
            batch: sizing.batch,
            interval_seconds: sizing.interval_seconds,
            session_seconds: demand.session_seconds,
        },
        visitors_per_hour: (sizing.pace * 3_600.0).floor(),
        visitors_per_hour_max: (sizing.pace_max * 3_600.0).floor(),
        wait_minutes_mean: rounded(sizing.wait_mean_seconds / 60.0),
        wait_minutes_longest: rounded(sizing.wait_longest_seconds / 60.0),
        parts: sizing.parts.iter().map(describe_part).collect(),
        requests_per_visitor: rounded(cost.requests_per_visitor),
        document_reads_per_visitor: rounded(cost.document_reads_per_visitor),
        cost: CrowdBill {
            currency: "USD",
            prices_of: FACTS_OF,
            total: rounded(cost.dollars()),
            items: cost.items.iter().map(describe_item).collect(),
        },
    }))
}

fn describe_part(part: &PartLoad) -> PartPlan {
    PartPlan {
        part: part.part,
        unit: part.unit,
        needed: rounded(part.used),
        given: part.ceiling,
        source: part.source,
        share: rounded(part.share()),
        // A part that is nearly full has nothing left for what comes unevenly.
        remedy: part.is_too_small().then(|| part.remedy.clone()),
    }
}

fn describe_item(item: &CostItem) -> BillItem {
    BillItem {
        what: item.what,
        units: item.units.round(),
        dollars: rounded(item.dollars()),
        page: item.price.source,
    }
}

/// A number with two decimals.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// Computes settings for `create` that meet a demand.
fn plan_settings(demand: &Demand) -> Result<Value, Problem> {
    let plan =
        SizingPlan::for_demand(demand).map_err(|error| Problem::invalid_field(error.field, error.reason))?;
    Ok(to_value(ServicePlan {
        settings: PlannedSettings {
            capacity: plan.capacity,
            batch: plan.batch,
            interval_seconds: plan.interval_seconds,
            session_seconds: demand.session_seconds,
        },
    }))
}
