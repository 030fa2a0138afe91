//! The environment of a run: a deployment with a queue, its own Redis, and networks that can be cut.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};
use uuid::Uuid;
use vestibule_domain::id::QueueId;

use super::{
    plan::{Fault, ScheduledFault},
    redis_pair::RedisPair,
    table_route::TableRoute,
};
use crate::{
    entries::now_ms,
    functions::{Deployment, DeploymentConfig},
    network::NetworkState,
    servers::dynamodb_url,
};

const FUNCTIONS: [&str; 7] = [
    "document", "enter", "claim", "status", "validate", "promoter", "admin",
];
/// The most polls that are held at once.
const HELD_POLLS_MAX: u32 = 8;
/// How long a promoter runs. In production it is a minute.
const PROMOTER_RUN: Duration = Duration::from_secs(15);
/// The pause between two promoters.
const PROMOTER_PAUSE: Duration = Duration::from_millis(50);
/// A trap that no write triggers is removed after this time.
const TRAP_MAX: Duration = Duration::from_secs(2);
/// The most time that creating the queue may take, before the first fault.
const CREATE_MAX: Duration = Duration::from_mins(1);
const CREATE_PAUSE: Duration = Duration::from_millis(100);

/// A fault that struck, with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPeriod {
    /// The fault.
    pub fault: Fault,
    /// The start, in Unix milliseconds.
    pub from_ms: u64,
    /// The end, in Unix milliseconds.
    pub until_ms: u64,
}

impl FaultPeriod {
    /// Whether the fault overlaps with this time.
    pub fn overlaps(&self, from_ms: u64, until_ms: u64) -> bool {
        self.from_ms <= until_ms && from_ms <= self.until_ms
    }
}

/// A deployment and its servers.
#[derive(Debug)]
pub(super) struct World {
    pub(super) deployment: Arc<Deployment>,
    pub(super) queue: QueueId,
    /// The lock lets only one fault of Redis strike at a time.
    pub(super) redis: AsyncMutex<RedisPair>,
    table_routes: BTreeMap<&'static str, TableRoute>,
    fault_periods: Mutex<Vec<FaultPeriod>>,
}

impl World {
    /// Starts the servers and the deployment, which runs at most this many promoters at once, and creates the queue with
    /// these settings.
    pub(super) async fn open(promoters_max: usize, settings: &Value) -> Arc<Self> {
        let redis = RedisPair::start().await;
        let mut table_routes = BTreeMap::new();
        for function in FUNCTIONS {
            table_routes.insert(function, TableRoute::open(&dynamodb_url(), function).await);
        }
        let choices = DeploymentConfig {
            promoter_timeout: PROMOTER_RUN,
            promoters_max,
            // Fewer than the environments of the function, as in a deployment, so that no poll takes the place of another one.
            held_polls_max: Some(HELD_POLLS_MAX),
            redis_url: Some(redis.url()),
            table_urls: table_routes
                .iter()
                .map(|(name, route)| (*name, route.url()))
                .collect(),
            ..DeploymentConfig::default()
        };
        let deployment = Arc::new(Deployment::start(choices).await);
        for route in table_routes.values() {
            route.set_deployment(&deployment);
        }
        let queue = format!("chaos:{}", Uuid::new_v4());
        let order = json!({ "op": "create", "queue": queue, "settings": settings });
        // On a busy machine a new Redis may not answer in time. The order can be repeated.
        let end = Instant::now() + CREATE_MAX;
        loop {
            let answer = deployment.run_command(&order).await;
            if answer["ok"] == true {
                break;
            }
            assert!(Instant::now() < end, "the queue was not created: {answer}");
            sleep(CREATE_PAUSE).await;
        }
        Arc::new(Self {
            deployment,
            queue: queue.parse().expect("the text is a valid queue id"),
            redis: redis.into(),
            table_routes,
            fault_periods: Mutex::default(),
        })
    }

    /// Runs promoters one after the other, in this many rows side by side, until the run stops.
    pub(super) fn start_promoters(
        self: &Arc<Self>,
        count: usize,
        stop: &watch::Receiver<bool>,
    ) -> Vec<JoinHandle<()>> {
        let one = || {
            let (world, mut stop) = (self.clone(), stop.clone());
            tokio::spawn(async move {
                while !*stop.borrow() {
                    // The run of a promoter fails if the promoter is killed or cannot start. The schedule
                    // starts the next one all the same.
                    tokio::select! {
                        _ = world.deployment.run_promoter() => {}
                        _ = stop.wait_for(|stop| *stop) => break,
                    }
                    sleep(PROMOTER_PAUSE).await;
                }
            })
        };
        (0..count).map(|_| one()).collect()
    }

    /// Lets each fault strike at its time, and returns when the last one has ended.
    pub(super) async fn run_faults(self: &Arc<Self>, faults: &[ScheduledFault]) {
        let start = Instant::now();
        let tasks: Vec<_> = faults
            .iter()
            .cloned()
            .map(|fault| {
                let world = self.clone();
                tokio::spawn(async move {
                    sleep_until(start + Duration::from_millis(fault.at_ms)).await;
                    world.run_fault(fault.fault).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("the fault task does not panic");
        }
    }

    /// The faults that struck, by their start.
    pub(super) fn fault_periods(&self) -> Vec<FaultPeriod> {
        let mut periods = self
            .fault_periods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        periods.sort_by_key(|period| period.from_ms);
        periods
    }

    async fn run_fault(&self, fault: Fault) {
        let ms = Duration::from_millis;
        let from_ms = match fault {
            Fault::RedisKilled { down_ms } => {
                let mut redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.restart_empty(ms(down_ms)).await;
                from_ms
            }
            Fault::RedisStale { stale_ms, down_ms } => {
                let mut redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.restart_stale(ms(stale_ms), ms(down_ms)).await;
                from_ms
            }
            Fault::RedisFailedOver { stale_ms } => {
                let mut redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.fail_over(ms(stale_ms)).await;
                from_ms
            }
            Fault::RedisPaused { duration_ms } => {
                let redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.signal("STOP");
                sleep(ms(duration_ms)).await;
                redis.signal("CONT");
                from_ms
            }
            Fault::RedisCut { duration_ms } => self.set_redis_network(NetworkState::Cut, duration_ms).await,
            Fault::RedisStalled { duration_ms } => {
                self.set_redis_network(NetworkState::Stalled, duration_ms).await
            }
            Fault::RedisSlow {
                duration_ms,
                delay_ms,
            } => {
                self.set_redis_network(NetworkState::Slow(ms(delay_ms)), duration_ms)
                    .await
            }
            Fault::TableStalled { duration_ms } => {
                self.set_table_network(NetworkState::Stalled, duration_ms).await
            }
            Fault::TableCut { duration_ms } => self.set_table_network(NetworkState::Cut, duration_ms).await,
            Fault::TableSlow {
                duration_ms,
                delay_ms,
            } => {
                self.set_table_network(NetworkState::Slow(ms(delay_ms)), duration_ms)
                    .await
            }
            Fault::TableThrottled { duration_ms, percent } => {
                let from_ms = now_ms();
                self.table_routes
                    .values()
                    .for_each(|route| route.throttle(percent));
                sleep(ms(duration_ms)).await;
                self.table_routes.values().for_each(|route| route.throttle(0));
                from_ms
            }
            Fault::TableFailing { duration_ms, percent } => {
                let from_ms = now_ms();
                self.table_routes.values().for_each(|route| route.fail(percent));
                sleep(ms(duration_ms)).await;
                self.table_routes.values().for_each(|route| route.fail(0));
                from_ms
            }
            Fault::FunctionKilled { function } => {
                let from_ms = now_ms();
                self.deployment.lambda.kill(function);
                from_ms
            }
            Fault::FunctionFrozen {
                function,
                duration_ms,
            } => {
                let from_ms = now_ms();
                self.deployment.lambda.signal(function, "STOP");
                sleep(ms(duration_ms)).await;
                self.deployment.lambda.signal(function, "CONT");
                from_ms
            }
            Fault::FunctionKilledAtWrite { function, written } => {
                let from_ms = now_ms();
                self.table_routes[function].set_trap(written);
                sleep(TRAP_MAX).await;
                self.table_routes[function].clear_trap();
                from_ms
            }
        };
        let periods = FaultPeriod {
            fault,
            from_ms,
            until_ms: now_ms(),
        };
        self.fault_periods
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(periods);
    }

    async fn set_redis_network(&self, state: NetworkState, duration_ms: u64) -> u64 {
        let redis = self.redis.lock().await;
        let from_ms = now_ms();
        redis.set_network(state);
        sleep(Duration::from_millis(duration_ms)).await;
        redis.set_network(NetworkState::Open);
        from_ms
    }

    async fn set_table_network(&self, state: NetworkState, duration_ms: u64) -> u64 {
        let from_ms = now_ms();
        self.table_routes
            .values()
            .for_each(|route| route.set_network(state));
        sleep(Duration::from_millis(duration_ms)).await;
        self.table_routes
            .values()
            .for_each(|route| route.set_network(NetworkState::Open));
        from_ms
    }
}
