//! The options of the command line.

use std::time::Duration;

use clap::{Parser, ValueEnum, value_parser};
use serde_json::{Map, Value, json};
use vestibule_crowd::{
    arrivals::Curve,
    plan::CrowdPlan,
    temper::{Stay, StayEnd},
};
use vestibule_domain::id::QueueId;
use vestibule_sizing::crowd_sizing::Cache;

/// A crowd on one machine and one network address. A larger one says more about this machine than about the deployment.
const VISITORS_MAX: i64 = 100_000;
/// A crowd comes and is served within a day.
const SECONDS_MAX: i64 = 86_400;
/// A queue of its own serves the whole crowd in about so many seconds.
const SERVED_SECONDS: u32 = 60;
/// The time to claim in a queue of its own, in seconds. No-shows take a slot for so long.
const OWN_CLAIM_SECONDS: u32 = 20;

/// How the protected service proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServiceAuth {
    /// By nothing, as the runner allows
    Open,
    /// By the API key in --service-key
    Key,
    /// By a signature with your AWS credentials
    Iam,
    /// The rehearsal does not act as the service: visitors leave, and nothing is validated
    None,
}

/// How the arrivals are spread over their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalCurve {
    /// The same number each second
    Flat,
    /// Most at the beginning: 71 % in the first half, as at an opening
    Front,
    /// Two waves with a lull between them, as after two announcements
    Wave,
}

impl From<ArrivalCurve> for Curve {
    fn from(curve: ArrivalCurve) -> Self {
        match curve {
            ArrivalCurve::Flat => Self::Flat,
            ArrivalCurve::Front => Self::Front,
            ArrivalCurve::Wave => Self::Wave,
        }
    }
}

/// The cache of the deployment, for the cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheKind {
    /// `ElastiCache` Serverless
    Serverless,
    /// Two nodes
    Node,
}

impl From<CacheKind> for Cache {
    fn from(kind: CacheKind) -> Self {
        match kind {
            CacheKind::Serverless => Self::Serverless,
            CacheKind::Node => Self::Node,
        }
    }
}

/// Sends a bounded crowd of visitors to a deployment, as the shipped client would, and reports what they met: order, pace,
/// capacity, latencies, errors and cost. Compares its figures with the server's own report.
///
/// It exits with 1 if a guarantee did not hold, or if the figures differ beyond what races explain. Ctrl-C ends it in order:
/// every visitor leaves. A second Ctrl-C ends it at once.
// Each flag is an option of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Parser)]
#[command(name = "vestibule-rehearse", version)]
pub(crate) struct Cli {
    /// The address of the deployment for visitors, for example `http://127.0.0.1:8080`, `WaitingRoomUrl` or `ApiUrl`
    #[arg(long, value_name = "URL")]
    pub url: String,

    /// Allow load on this host, which is not this machine. Repeat it for each host
    #[arg(long, value_name = "HOST")]
    pub allow_remote: Vec<String>,

    /// The queue. Without it, the rehearsal creates a queue of its own, and deletes it at the end
    #[arg(long, value_name = "QUEUE")]
    pub queue: Option<QueueId>,

    /// Create the queue with these settings, such as `{"capacity": 500, "batch": 20}`, and delete it at the end
    #[arg(long, value_name = "JSON", value_parser = parse_settings)]
    pub settings: Option<Settings>,

    /// Do not delete the queue that the rehearsal created
    #[arg(long)]
    pub keep: bool,

    /// How many visitors come, at most 100,000
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = value_parser!(u32).range(1..=VISITORS_MAX))]
    pub visitors: u32,

    /// The time in which they come
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u32).range(0..=SECONDS_MAX))]
    pub arrival_seconds: u32,

    /// How the arrivals are spread over that time
    #[arg(long, value_name = "CURVE", value_enum, default_value_t = ArrivalCurve::Front)]
    pub curve: ArrivalCurve,

    /// How long a visitor stays who was let in, on average
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = value_parser!(u32).range(1..=SECONDS_MAX))]
    pub session_seconds: u32,

    /// How often the protected service validates each of them
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = value_parser!(u32).range(0..=1_000))]
    pub checks: u32,

    /// The share of visitors who leave the line before their turn, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = value_parser!(u8).range(0..=100))]
    pub leavers: u8,

    /// The longest time that they stay in line
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u32).range(1..=SECONDS_MAX))]
    pub patience_seconds: u32,

    /// The share of visitors who do not claim their turn, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2, value_parser = value_parser!(u8).range(0..=100))]
    pub no_shows: u8,

    /// The share of entries that never poll, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2, value_parser = value_parser!(u8).range(0..=100))]
    pub fakes: u8,

    /// After this time every visitor leaves, wherever the rehearsal is
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = value_parser!(u32).range(1..=SECONDS_MAX))]
    pub seconds_max: u32,

    /// The most connections at once, three quarters of them for held polls. Visitors who wait for one are late, and may
    /// lose their turn
    #[arg(long, value_name = "N", default_value_t = 2_048, value_parser = value_parser!(u16).range(1..=16_384))]
    pub connections: u16,

    /// Makes the same crowd again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// The address of the deployment for the protected service (`ApiUrl`), if it is another one
    #[arg(long, value_name = "URL")]
    pub service_url: Option<String>,

    /// How the protected service proves itself. The default is open with the runner, and none elsewhere
    #[arg(long, value_name = "WAY", value_enum)]
    pub service: Option<ServiceAuth>,

    /// The API key of the protected service
    #[arg(
        long,
        value_name = "KEY",
        env = "VESTIBULE_SERVICE_KEY",
        hide_env_values = true
    )]
    pub service_key: Option<String>,

    /// The admin function of a stack (its output `AdminFunction`), invoked with your AWS credentials. Without it, a URL of
    /// this machine is taken for the runner
    #[arg(long, value_name = "NAME")]
    pub admin_function: Option<String>,

    /// Give no command of operators: the report compares nothing with the server
    #[arg(long, conflicts_with_all = ["admin_function", "settings"], requires = "queue")]
    pub no_admin: bool,

    /// The API answers the reads of the public document, and no CDN does. This counts for the cost only
    #[arg(long)]
    pub without_cdn: bool,

    /// The cache of the deployment. This counts for the cost only
    #[arg(long, value_name = "CACHE", value_enum, default_value_t = CacheKind::Serverless)]
    pub cache: CacheKind,

    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// The settings of a new queue.
#[derive(Debug, Clone)]
pub(crate) struct Settings(Map<String, Value>);

fn parse_settings(text: &str) -> Result<Settings, String> {
    let settings = serde_json::from_str(text);
    settings
        .map(Settings)
        .map_err(|error| format!("must be a JSON object: {error}"))
}

impl Cli {
    /// The crowd that comes, or why there is none. If the rehearsal cannot act as the protected service, nothing is validated, and
    /// visitors leave.
    pub(crate) fn crowd(&self, has_service: bool) -> Result<CrowdPlan, String> {
        let shares = [self.leavers, self.no_shows, self.fakes];
        if shares.iter().map(|share| u32::from(*share)).sum::<u32>() > 100 {
            return Err("--leavers, --no-shows and --fakes are more than 100 % together".to_owned());
        }
        Ok(CrowdPlan {
            visitors: self.visitors,
            arrival: seconds(self.arrival_seconds),
            curve: self.curve.into(),
            leavers: self.leavers,
            vanishers: 0,
            sleepers: 0,
            no_shows: self.no_shows,
            fakes: self.fakes,
            patience: seconds(self.patience_seconds),
            stay: Stay {
                length_ms: 1_000.0 * f64::from(self.session_seconds),
                checks: if has_service { self.checks } else { 0 },
                end: if has_service {
                    StayEnd::Completes
                } else {
                    StayEnd::Leaves
                },
                extends: true,
            },
            seed: self.seed,
        })
    }

    /// The settings with which the queue is created. `None` for a queue that exists.
    pub(crate) fn settings_of_new_queue(&self) -> Option<Map<String, Value>> {
        match (&self.settings, &self.queue) {
            (Some(Settings(settings)), _) => Some(settings.clone()),
            (None, Some(_)) => None,
            (None, None) => Some(self.usual_settings()),
        }
    }

    /// Settings by which the crowd is served in about a minute.
    fn usual_settings(&self) -> Map<String, Value> {
        let batch = self.visitors.div_ceil(SERVED_SECONDS);
        // Each slot is taken for the way to the claim and for the session.
        let capacity = u64::from(batch) * (u64::from(self.session_seconds) + 10);
        let settings = json!({
            "capacity": capacity, "batch": batch, "interval_seconds": 1, "claim_seconds": OWN_CLAIM_SECONDS,
        });
        settings.as_object().cloned().unwrap_or_default()
    }
}

/// A time of the command line.
pub(crate) fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Cli, String> {
        let line = format!("vestibule-rehearse --url http://127.0.0.1:8080 {arguments}");
        Cli::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_crowd_beyond_the_bound_is_refused() {
        let error = parse("--visitors 100001").expect_err("too many");
        assert!(
            error.contains("--visitors") && error.contains("100000"),
            "{error}"
        );
        assert!(parse("--visitors 100000").is_ok());
    }

    #[test]
    fn shares_beyond_the_whole_crowd_are_refused() {
        let cli = parse("--leavers 50 --no-shows 30 --fakes 21").expect("each is a share");
        assert!(cli.crowd(true).is_err_and(|error| error.contains("--fakes")));
    }

    #[test]
    fn visitors_leave_if_no_service_can_complete_them() {
        let cli = parse("--checks 3").expect("options");
        let stay = |has_service| cli.crowd(has_service).expect("a crowd").stay;
        assert_eq!((stay(true).checks, stay(true).end), (3, StayEnd::Completes));
        assert_eq!((stay(false).checks, stay(false).end), (0, StayEnd::Leaves));
    }

    #[test]
    fn a_rehearsal_creates_a_queue_unless_it_is_given_one() {
        let own = parse("--visitors 600").expect("options").settings_of_new_queue();
        assert_eq!(own.expect("settings")["batch"], 10);
        assert_eq!(
            parse("--queue shop:1").expect("options").settings_of_new_queue(),
            None
        );
        let given = parse(r#"--queue shop:1 --settings {"batch":7}"#).expect("options");
        assert_eq!(given.settings_of_new_queue().expect("settings")["batch"], 7);
        assert!(parse("--settings 7").is_err());
    }

    #[test]
    fn without_commands_of_operators_the_queue_must_be_named() {
        assert!(parse("--no-admin").is_err());
        assert!(parse("--no-admin --queue shop:1").is_ok());
    }
}
