//! The rehearsal from the first command of the operator to the report.

use std::{sync::Arc, time::Duration};

use aws_config::SdkConfig;
use http::HeaderValue;
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_aws::admin_client::AdminFunction;
use vestibule_crowd::{
    checks::sorted_waits_ms,
    connections::ConnectionLimit,
    crowd::{Crowd, CrowdClock, CrowdOutcome},
    http::{HttpClient, HttpDoor},
    ledger::Ledger,
    stop::{StopReason, Stopper},
};
use vestibule_telemetry::stop_signals::StopSignals;

use crate::{
    admin::{AdminChannel, AdminError},
    cli::{Cli, ServiceAuth, seconds},
    comparison::{ComparisonRow, compare},
    cost::{CostFigures, PaidDeployment},
    crowd_totals::CrowdTotals,
    progress::{ProgressBounds, StageGauges, end_progress, show_progress},
    queue::OperatedQueue,
    report::{Comparison, GuaranteeFigures, OwnFaults, Report, find_faults, in_ms, per_visitor, stop_text},
    service_access::{ServiceAccess, ServiceProof, Signer, SigningError, UnsignedRequests},
    target::{AllowedHosts, TargetError},
};

/// The server may count the last changes a moment later. Its report is read so often, once a second.
const REPORT_READS: u32 = 5;
/// The exit code of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Why a rehearsal did not take place. Each is one line that says what to do if the user can act.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("{0}")]
    Options(String),
    #[error("{0}")]
    Target(#[from] TargetError),
    #[error("{0}")]
    Admin(#[from] AdminError),
    #[error("{0}")]
    Signing(#[from] SigningError),
    #[error("the process cannot start: {0}")]
    Start(#[from] std::io::Error),
    #[error(
        "there is no way to the operators' commands of this deployment: give --admin-function, or --queue and --no-admin"
    )]
    NoAdmin,
}

/// Where the parts of the deployment are.
struct Deployment {
    url: String,
    service_url: String,
    allowed: AllowedHosts,
    admin: Option<AdminChannel>,
    service: ServiceAccess,
}

/// Runs the rehearsal.
pub(crate) async fn run(cli: &Cli) -> Result<Report, RunError> {
    let deployment = open_deployment(cli).await?;
    let plan = cli
        .crowd(deployment.service.is_available())
        .map_err(RunError::Options)?;
    let random_name = || format!("rehearsal-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let queue = cli
        .queue
        .as_ref()
        .map_or_else(random_name, |queue| queue.as_str().to_owned());
    let connections = usize::from(cli.connections);
    let operated = match deployment.admin {
        Some(admin) => {
            let new = cli.settings_of_new_queue();
            Some(OperatedQueue::open(admin, &queue, new.as_ref()).await?)
        }
        None => None,
    };
    let (stopper, stop) = Stopper::new();
    let client = HttpClient::with_resolver(deployment.allowed.resolver(), connections)?;
    let queue_url = |url: &str| format!("{url}/queues/{queue}");
    let proof = ServiceProof::new(deployment.service);
    let door = HttpDoor::new(client, queue_url(&deployment.url))
        .with_service(queue_url(&deployment.service_url), proof.clone());
    let crowd = Arc::new(Crowd {
        door,
        ledger: Arc::default(),
        observer: StageGauges::default(),
        stop,
        clock: CrowdClock::start(),
        keeps_estimates: false,
        limit: Some(ConnectionLimit::new(connections)),
    });
    let stopping = tokio::spawn(stop_in_time(stopper, seconds(cli.seconds_max)));
    let bounds = ProgressBounds {
        visitors: plan.visitors.into(),
        arrival: plan.arrival,
        longest: seconds(cli.seconds_max),
    };
    let progress = tokio::spawn(show_progress(
        crowd.observer.clone(),
        crowd.ledger.clone(),
        bounds,
    ));
    let began_at = Instant::now();
    // One who missed the turn has lost it, and does not try again: the report shall show that.
    let visits = plan.visits().map(|mut visit| {
        visit.temper.returns = 0;
        visit
    });
    let outcome = crowd.send(visits).await;
    let rehearsed = Rehearsed {
        outcome: &outcome,
        ledger: &crowd.ledger,
        unsigned: proof.unsigned(),
        stopped: crowd.stop.reason(),
        duration: began_at.elapsed(),
    };
    progress.abort();
    end_progress();
    let mut report = write_report(cli, &queue, operated.as_ref(), rehearsed).await;
    stopping.abort();
    if let Some(operated) = operated.filter(|_| !cli.keep) {
        let deleted = operated.delete_if_own().await;
        // The report is worth more than a queue that stays.
        let finding = |error: AdminError| format!("queue: {queue} was not deleted: {error}");
        report.findings.extend(deleted.err().map(finding));
    }
    Ok(report)
}

async fn open_deployment(cli: &Cli) -> Result<Deployment, RunError> {
    let allowed = AllowedHosts(cli.allow_remote.clone());
    let url = allowed.parse(&cli.url)?;
    let service_url = match &cli.service_url {
        Some(text) => allowed.parse(text)?,
        None => url.clone(),
    };
    let endpoint = vestibule_aws::endpoint_from_env();
    let needs_aws = cli.admin_function.is_some() || cli.service == Some(ServiceAuth::Iam);
    let aws = if needs_aws {
        Some(vestibule_aws::load_config([endpoint.as_deref()]).await)
    } else {
        None
    };
    // A URL of this machine without a function is the runner's.
    let is_runner = AllowedHosts::default().parse(&url).is_ok();
    let admin = match (&cli.admin_function, &aws) {
        _ if cli.no_admin => None,
        (Some(name), Some(aws)) => {
            let function = AdminFunction::new(aws, name.clone(), endpoint.as_deref());
            Some(AdminChannel::Function(function))
        }
        _ if is_runner => {
            let client = HttpClient::with_resolver(AllowedHosts::default().resolver(), 1)?;
            Some(AdminChannel::Runner(Box::new(client), format!("{url}/_admin")))
        }
        _ => return Err(RunError::NoAdmin),
    };
    let is_open = is_runner && cli.admin_function.is_none();
    let service = open_service(cli, is_open, aws.as_ref())?;
    Ok(Deployment {
        url,
        service_url,
        allowed,
        admin,
        service,
    })
}

fn open_service(cli: &Cli, is_open: bool, aws: Option<&SdkConfig>) -> Result<ServiceAccess, RunError> {
    let usual = match &cli.service_key {
        Some(_) => ServiceAuth::Key,
        None if is_open => ServiceAuth::Open,
        None => ServiceAuth::None,
    };
    match (cli.service.unwrap_or(usual), &cli.service_key, aws) {
        (ServiceAuth::Open, ..) => Ok(ServiceAccess::Open),
        (ServiceAuth::None, ..) => Ok(ServiceAccess::Absent),
        (ServiceAuth::Key, Some(key), _) => {
            let mut key = HeaderValue::from_str(key)
                .map_err(|_| RunError::Options("--service-key is no value of a header".to_owned()))?;
            key.set_sensitive(true);
            Ok(ServiceAccess::Key(key))
        }
        (ServiceAuth::Iam, _, Some(aws)) => Ok(ServiceAccess::Iam(Box::new(Signer::new(aws)?))),
        (ServiceAuth::Key | ServiceAuth::Iam, ..) => {
            Err(RunError::Options("--service key needs --service-key".to_owned()))
        }
    }
}

/// Ends the rehearsal on a signal, or when its time is over. A second signal ends the process.
async fn stop_in_time(stopper: Stopper, longest: Duration) -> std::io::Result<()> {
    let mut signals = StopSignals::listen()?;
    let reason = tokio::select! {
        () = signals.next() => StopReason::Interrupted,
        () = sleep(longest) => StopReason::OutOfTime,
    };
    stopper.stop(reason);
    eprintln!(
        "\nvestibule-rehearse: the visitors leave. Press Ctrl-C to end at once; their entries then stay in line."
    );
    signals.next().await;
    std::process::exit(INTERRUPTED);
}

/// What a rehearsal left behind.
#[derive(Clone, Copy)]
struct Rehearsed<'a> {
    outcome: &'a CrowdOutcome,
    ledger: &'a Ledger,
    unsigned: &'a UnsignedRequests,
    stopped: Option<StopReason>,
    duration: Duration,
}

async fn write_report(
    cli: &Cli,
    queue: &str,
    operated: Option<&OperatedQueue>,
    rehearsed: Rehearsed<'_>,
) -> Report {
    let visits = &rehearsed.outcome.records;
    let crowd = CrowdTotals::of_visits(visits);
    let settings = operated.map(|operated| operated.settings);
    let guarantees = GuaranteeFigures::of_visits(visits, settings);
    let comparison = match operated {
        Some(operated) => compare_with_server(operated, rehearsed.outcome, &crowd).await,
        None => Comparison::NotAsked,
    };
    let mut operations = rehearsed.ledger.figures();
    rehearsed.unsigned.name_failures(&mut operations);
    let longest_queueing_ms = in_ms(rehearsed.ledger.longest_queueing());
    let own_faults = OwnFaults {
        visits: rehearsed.outcome.faults,
        longest_queueing_ms,
        unsigned: rehearsed.unsigned.reason(),
    };
    let paid = PaidDeployment {
        has_cdn: !cli.without_cdn,
        cache: cli.cache.into(),
    };
    Report {
        queue: queue.to_owned(),
        seconds: rehearsed.duration.as_secs_f64(),
        stopped: rehearsed.stopped.map(stop_text),
        findings: find_faults(&crowd, &guarantees, &comparison, own_faults),
        requests_per_visitor: per_visitor(visits, |visit| visit.requests),
        document_reads_per_visitor: per_visitor(visits, |visit| visit.document_reads),
        longest_queueing_ms,
        cost: CostFigures::of_requests(&operations, crowd.entered, rehearsed.duration, paid),
        crowd,
        guarantees,
        operations,
        comparison,
    }
}

/// Reads the server's report until it agrees, or for some seconds.
async fn compare_with_server(
    operated: &OperatedQueue,
    outcome: &CrowdOutcome,
    crowd: &CrowdTotals,
) -> Comparison {
    let waits_ms = sorted_waits_ms(&outcome.records);
    let mut reads = 0;
    loop {
        let server = match operated.report().await {
            Ok(server) => server,
            Err(error) => return Comparison::Failed(error.to_string()),
        };
        let rows = compare(crowd, &waits_ms, &server);
        reads += 1;
        if reads == REPORT_READS || rows.iter().all(ComparisonRow::agrees) {
            return Comparison::Rows {
                rows,
                server_peak_waiting: server.peak.waiting,
            };
        }
        sleep(Duration::from_secs(1)).await;
    }
}
