//! What a run takes place in: a deployment with a queue, a Redis of its own, and roads that can be cut.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::json;
use tokio::{
    sync::{Mutex as AsyncMutex, watch},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};
use uuid::Uuid;
use vestibule_domain::id::QueueId;

use super::{
    plan::{Fault, Plan, Strike},
    redis::Pair,
    table::Road,
    tcp::Flow,
};
use crate::{
    entries::now_ms,
    functions::{Deployment, DeploymentConfig},
    servers::dynamodb_url,
};

const FUNCTIONS: [&str; 5] = ["enter", "status", "validate", "promoter", "admin"];
/// A promoter's minute.
const MINUTE: Duration = Duration::from_secs(15);
/// Between the end of one promoter and the start of the next.
const GAP: Duration = Duration::from_millis(50);
/// A trap that nobody met is taken away after so long.
const TRAP: Duration = Duration::from_secs(2);

/// A fault that struck: what is known of it afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Struck {
    /// The fault.
    pub fault: Fault,
    /// From when to when, in Unix milliseconds.
    pub from_ms: u64,
    /// The end.
    pub until_ms: u64,
}

impl Struck {
    /// Whether any of it was in that time.
    pub fn overlaps(&self, from_ms: u64, until_ms: u64) -> bool {
        self.from_ms <= until_ms && from_ms <= self.until_ms
    }
}

/// A deployment, and what it stands on.
#[derive(Debug)]
pub(super) struct World {
    pub(super) deployment: Arc<Deployment>,
    pub(super) queue: QueueId,
    /// One fault of Redis at a time.
    pub(super) redis: AsyncMutex<Pair>,
    roads: BTreeMap<&'static str, Road>,
    struck: Mutex<Vec<Struck>>,
}

impl World {
    /// Starts everything, and makes the queue.
    pub(super) async fn open(plan: &Plan) -> Arc<Self> {
        let redis = Pair::start().await;
        let mut roads = BTreeMap::new();
        for function in FUNCTIONS {
            roads.insert(function, Road::to(&dynamodb_url(), function).await);
        }
        let config = DeploymentConfig {
            promoter_timeout: MINUTE,
            promoters_max: plan.promoters,
            redis_url: Some(redis.url()),
            table_urls: roads.iter().map(|(name, road)| (*name, road.url())).collect(),
            ..DeploymentConfig::default()
        };
        let deployment = Arc::new(Deployment::start(config).await);
        for road in roads.values() {
            road.leads_from(&deployment.lambda);
        }
        let queue = format!("chaos:{}", Uuid::new_v4());
        let order = json!({ "op": "create", "queue": queue, "settings": plan.settings() });
        let created = deployment.run_command(&order).await;
        assert_eq!(created["ok"], true, "{created}");
        Arc::new(Self {
            deployment,
            queue: queue.parse().expect("an id"),
            redis: redis.into(),
            roads,
            struck: Mutex::default(),
        })
    }

    /// Promoters, one after the other or side by side, until told to stop.
    pub(super) fn promoters(
        self: &Arc<Self>,
        how_many: usize,
        stop: &watch::Receiver<bool>,
    ) -> Vec<JoinHandle<()>> {
        let one = || {
            let (world, mut stop) = (self.clone(), stop.clone());
            tokio::spawn(async move {
                while !*stop.borrow() {
                    // It fails where it is killed, or cannot start: the schedule has the next one started all the same.
                    tokio::select! {
                        _ = world.deployment.run_promoter() => {}
                        _ = stop.wait_for(|stop| *stop) => break,
                    }
                    sleep(GAP).await;
                }
            })
        };
        (0..how_many).map(|_| one()).collect()
    }

    /// Has every fault strike at its time, and returns when the last is over.
    pub(super) async fn suffer(self: &Arc<Self>, strikes: &[Strike]) {
        let start = Instant::now();
        let under_way: Vec<_> = strikes
            .iter()
            .cloned()
            .map(|strike| {
                let world = self.clone();
                tokio::spawn(async move {
                    sleep_until(start + Duration::from_millis(strike.at_ms)).await;
                    world.strike(strike.fault).await;
                })
            })
            .collect();
        for strike in under_way {
            strike.await.expect("no panic");
        }
    }

    /// What struck, in the order of its beginning.
    pub(super) fn struck(&self) -> Vec<Struck> {
        let mut struck = self.struck.lock().unwrap_or_else(PoisonError::into_inner).clone();
        struck.sort_by_key(|struck| struck.from_ms);
        struck
    }

    async fn strike(&self, fault: Fault) {
        let ms = Duration::from_millis;
        let from_ms = match fault {
            Fault::RedisKilled { down_ms } => {
                let mut redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.lose(ms(down_ms)).await;
                from_ms
            }
            Fault::RedisOld { behind_ms, down_ms } => {
                let mut redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.go_back(ms(behind_ms), ms(down_ms)).await;
                from_ms
            }
            Fault::RedisFailedOver { behind_ms } => {
                let mut redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.fail_over(ms(behind_ms)).await;
                from_ms
            }
            Fault::RedisPaused { for_ms } => {
                let redis = self.redis.lock().await;
                let from_ms = now_ms();
                redis.signal("STOP");
                sleep(ms(for_ms)).await;
                redis.signal("CONT");
                from_ms
            }
            Fault::RedisCut { for_ms } => self.redis_is(Flow::Cut, for_ms).await,
            Fault::RedisStalled { for_ms } => self.redis_is(Flow::Stalled, for_ms).await,
            Fault::RedisSlow { for_ms, late_ms } => self.redis_is(Flow::Slow(ms(late_ms)), for_ms).await,
            Fault::TableStalled { for_ms } => self.table_is(Flow::Stalled, for_ms).await,
            Fault::TableCut { for_ms } => self.table_is(Flow::Cut, for_ms).await,
            Fault::TableSlow { for_ms, late_ms } => self.table_is(Flow::Slow(ms(late_ms)), for_ms).await,
            Fault::TableThrottled { for_ms, percent } => {
                let from_ms = now_ms();
                self.roads.values().for_each(|road| road.throttle(percent));
                sleep(ms(for_ms)).await;
                self.roads.values().for_each(|road| road.throttle(0));
                from_ms
            }
            Fault::Killed { function } => {
                let from_ms = now_ms();
                self.deployment.lambda.kill(function);
                from_ms
            }
            Fault::KilledAtWrite { function, written } => {
                let from_ms = now_ms();
                self.roads[function].set_trap(written);
                sleep(TRAP).await;
                self.roads[function].clear_trap();
                from_ms
            }
        };
        let struck = Struck {
            fault,
            from_ms,
            until_ms: now_ms(),
        };
        self.struck
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(struck);
    }

    async fn redis_is(&self, flow: Flow, for_ms: u64) -> u64 {
        let redis = self.redis.lock().await;
        let from_ms = now_ms();
        redis.set(flow);
        sleep(Duration::from_millis(for_ms)).await;
        redis.set(Flow::Open);
        from_ms
    }

    async fn table_is(&self, flow: Flow, for_ms: u64) -> u64 {
        let from_ms = now_ms();
        self.roads.values().for_each(|road| road.set(flow));
        sleep(Duration::from_millis(for_ms)).await;
        self.roads.values().for_each(|road| road.set(Flow::Open));
        from_ms
    }
}
