//! How fast a queue can let a crowd in, and which part of the deployment is full first.

use super::{
    ceilings::{Ceilings, FUNCTION_NAMES, Function, executions},
    facts::{
        ACCOUNT_EXECUTIONS, CDN_PER_SECOND, Fact, GATEWAY_PER_SECOND, NEW_TABLE_WRITES, NODE_SLOT_POLLS,
        REQUESTS_PER_EXECUTION, SERVERLESS_SLOT_POLLS, WRITES_PER_VISITOR,
    },
    load::{CrowdLoad, held_polls},
    part_load::{PartLoad, USED_SHARE},
};
use vestibule_domain::settings::Settings;

/// The length of a promotion interval, in seconds.
const INTERVAL_SECONDS: f64 = 10.0;

/// The cache that holds the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// `ElastiCache` Serverless, the default of the template.
    Serverless,
    /// Nodes (`CacheNodeType`), or a Redis of the owner.
    Node,
}

impl Cache {
    /// Entry polls per second that the hash slot of a queue answers.
    pub fn slot_polls_per_second(self) -> u32 {
        self.slot().whole()
    }

    fn slot(self) -> Fact {
        match self {
            Self::Serverless => SERVERLESS_SLOT_POLLS,
            Self::Node => NODE_SLOT_POLLS,
        }
    }
}

/// The crowd that an owner expects, and how it is to be served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrowdDemand {
    /// How many visitors come.
    pub visitors: u32,
    /// The time in which they come, in seconds.
    pub arrival_seconds: u32,
    /// How long they are to wait on average, in seconds. The wait is longer if the line is slower.
    pub wait_seconds: u32,
    /// The length of a session, in seconds.
    pub session_seconds: u32,
    /// How often the protected service validates each of them.
    pub checks: u32,
    /// The cache that holds the line.
    pub cache: Cache,
    /// Whether a CDN answers the reads of the public document. Otherwise the API does.
    pub has_cdn: bool,
}

/// The crowd comes faster than the line takes it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "is too short: one queue takes in {per_second} visitors per second, so the crowd needs at least {seconds} s. Let \
     visitors enter before the opening, with `opens_at_ms` at least as far away and `before_opening: draw`. Clients then \
     spread their entering over that time, and the order is drawn, so no visitor has to be first"
)]
pub struct TooFast {
    /// Visitors per second that the line takes in.
    pub per_second: u32,
    /// The least time for the crowd, in seconds.
    pub seconds: u32,
}

/// How a queue serves a crowd.
#[derive(Debug, Clone, PartialEq)]
pub struct CrowdSizing {
    /// Visitors who are let in per second.
    pub pace: f64,
    /// The most that the queue could let in per second, with every other part raised.
    pub pace_max: f64,
    /// The mean and the longest wait, in seconds.
    pub wait_mean_seconds: f64,
    /// See [`CrowdSizing::wait_mean_seconds`].
    pub wait_longest_seconds: f64,
    /// Visitors inside at once.
    pub capacity: u64,
    /// Visitors who are let in per interval of [`CrowdSizing::interval_seconds`].
    pub batch: u64,
    /// The length of an interval, in seconds.
    pub interval_seconds: u64,
    /// What the crowd asks of each part at the wished wait, the fullest one first. It breaks first if its share is above 1.
    pub parts: Vec<PartLoad>,
}

impl CrowdDemand {
    /// What this crowd asks of a deployment.
    pub fn load<'a>(&self, settings: &'a Settings) -> CrowdLoad<'a> {
        CrowdLoad {
            visitors: self.visitors.into(),
            checks: self.checks,
            settings,
            entering_per_second: f64::from(self.visitors) / f64::from(self.arrival_seconds.max(1)),
        }
    }
}

impl CrowdSizing {
    /// Plans for a crowd. `settings` tell how clients are called and paced.
    ///
    /// # Errors
    /// [`TooFast`] if the line cannot take the crowd in as fast as it comes.
    pub fn for_crowd(demand: &CrowdDemand, settings: &Settings) -> Result<Self, TooFast> {
        let load = demand.load(settings);
        let slot = f64::from(demand.cache.slot_polls_per_second());
        let is_carried = |load: &CrowdLoad, pace: f64| load.slot_polls_per_second(pace) <= slot * USED_SHARE;
        let takes_in = |entering_per_second: f64| {
            is_carried(
                &CrowdLoad {
                    entering_per_second,
                    ..load
                },
                PACE_MIN,
            )
        };
        let taken_in = highest(load.entering_per_second, takes_in);
        if taken_in < load.entering_per_second {
            return Err(TooFast {
                per_second: whole(taken_in),
                seconds: whole((load.visitors / taken_in.max(PACE_MIN)).ceil()),
            });
        }
        let pace_max = highest(load.visitors, |pace| is_carried(&load, pace));
        let wished = load.pace_for_mean_wait(demand.wait_seconds);
        let pace = wished.min(pace_max);
        let wait_longest_seconds = load.longest_wait_seconds(pace);
        let mut parts = parts(demand, &load, wished);
        parts.sort_by(|a, b| b.share().total_cmp(&a.share()));
        Ok(Self {
            pace,
            pace_max,
            wait_mean_seconds: wait_longest_seconds / 2.0,
            wait_longest_seconds,
            capacity: whole((pace * f64::from(demand.session_seconds)).ceil())
                .max(1)
                .into(),
            batch: whole((pace * INTERVAL_SECONDS).floor()).max(1).into(),
            interval_seconds: whole(INTERVAL_SECONDS).into(),
            parts,
        })
    }
}

/// The least pace that is looked at, per second.
const PACE_MIN: f64 = 0.001;

/// The load of each part at this pace.
fn parts(demand: &CrowdDemand, load: &CrowdLoad, pace: f64) -> Vec<PartLoad> {
    let ceilings = Ceilings::with_slot(demand.cache.slot_polls_per_second());
    let document_reads = load.document_reads_per_second(pace);
    let mut requests = vec![
        (Function::Enter, load.entering_per_second),
        (Function::Status, load.status_requests_per_second(pace)),
        (Function::Claim, pace),
        (Function::Validate, pace * f64::from(demand.checks + 1)),
    ];
    if !demand.has_cdn {
        requests.push((Function::Document, document_reads));
    }
    let api_requests: f64 = requests.iter().map(|(_, rate)| rate).sum();
    let executing: u32 = requests.iter().map(|(_, rate)| executions(*rate)).sum();
    let functions = requests.iter();
    let mut parts: Vec<_> = functions
        .map(|(function, rate)| function_load(&ceilings, *function, *rate))
        .collect();
    let slot_remedy = match demand.cache {
        Cache::Serverless => "run the line on nodes (CacheNodeType), or split the crowd over several queues",
        Cache::Node => "split the crowd over several queues",
    };
    let gateway_remedy = if demand.has_cdn {
        "raise the quota of requests per second of the account"
    } else {
        "serve the public document by a CDN, or raise the quota of requests per second of the account"
    };
    let part = |part, unit, used, ceiling: Fact, remedy: &str| PartLoad {
        part,
        unit,
        used,
        ceiling: ceiling.value,
        source: ceiling.source,
        remedy: remedy.to_owned(),
    };
    parts.extend([
        part(
            "hash slot of the queue",
            "entry polls per second",
            load.slot_polls_per_second(pace),
            demand.cache.slot(),
            slot_remedy,
        ),
        part(
            "API Gateway",
            "requests per second",
            api_requests,
            GATEWAY_PER_SECOND,
            gateway_remedy,
        ),
        part(
            "Lambda",
            "executions at once",
            f64::from(executing) + held_polls(pace),
            ACCOUNT_EXECUTIONS,
            "raise the quota of concurrent executions of the account",
        ),
        part(
            "DynamoDB",
            "writes per second",
            load.entering_per_second + pace * (WRITES_PER_VISITOR.value - 1.0),
            NEW_TABLE_WRITES,
            "set EntriesWarmWriteUnits before the event, and above 40,000 raise the quota of the table",
        ),
    ]);
    if demand.has_cdn {
        parts.push(part(
            "CDN",
            "requests per second",
            document_reads + api_requests,
            CDN_PER_SECOND,
            "raise the quota of requests per second of the distribution",
        ));
    }
    parts
}

/// Where the concurrency of a function comes from.
const FUNCTION_SOURCE: &str = "template.yaml, its concurrency";

fn function_load(ceilings: &Ceilings, function: Function, per_second: f64) -> PartLoad {
    let name = FUNCTION_NAMES[function as usize];
    let needed = executions(per_second / USED_SHARE);
    let rate = needed * REQUESTS_PER_EXECUTION.whole();
    PartLoad {
        part: name,
        unit: "requests per second",
        used: per_second,
        ceiling: f64::from(ceilings.function_per_second(function)),
        source: FUNCTION_SOURCE,
        remedy: if function == Function::Status {
            format!("set {name}Concurrency to {needed}")
        } else {
            format!("set {name}Concurrency to {needed} and {name}ThrottleRate to {rate}")
        },
    }
}

/// A positive number as a whole one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u32 {
    number as u32
}

/// The highest number up to this one that is possible. Every lower number is possible, too.
pub fn highest(up_to: f64, is_possible: impl Fn(f64) -> bool) -> f64 {
    if is_possible(up_to) {
        return up_to;
    }
    let (mut low, mut high) = (0.0, up_to);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if is_possible(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests;
