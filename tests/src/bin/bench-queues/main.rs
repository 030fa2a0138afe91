//! Measures what many queues cost: the processor of Redis for idle ones, and how long a round over busy ones takes.
//!
//! It prints one `name=value` a line. Run it with `make bench-queues`, which starts a Redis of its own.

mod redis_probe;

use std::{env, error::Error, io, sync::Arc, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tokio::{task::JoinHandle, time::sleep};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{IdKey, QueueId, Visitor},
    settings::Settings,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Arrival, Line};
use vestibule_promoter::Promoter;
use vestibule_telemetry::emf::Metrics;
use vestibule_tests::{functions::root_key, lines::configuration};

use self::redis_probe::RedisProbe;

/// How many queues are idle, if no argument says it.
const IDLE_QUEUES: usize = 2_000;
/// How many of them get a visitor.
const BUSY_QUEUES: usize = 1_000;
/// How many queues are set up at the same time.
const SETUPS: usize = 32;
/// The processor is measured for this long while no queue is parked, and while all are.
const BEFORE_PARKING: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_secs(3);
const WHILE_PARKED: Duration = Duration::from_mins(1);
/// The rounds of the busy queues that are measured.
const ROUNDS: usize = 20;

struct Bench {
    line: Line,
    backup: Arc<FileBackup>,
    queues: Vec<QueueId>,
    probe: RedisProbe,
    _folder: tempfile::TempDir,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("TEST_REDIS_URL")
        .map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-queues`")?;
    let queues = env::args().nth(1).map_or(Ok(IDLE_QUEUES), |text| text.parse())?;
    let mut bench = Bench::open(&url, queues).await?;
    let promoter = bench.start_promoter();
    bench.measure_idle().await?;
    bench.measure_busy().await?;
    promoter.abort();
    Ok(())
}

impl Bench {
    async fn open(url: &str, queues: usize) -> Result<Self, Box<dyn Error>> {
        let line = Line::connect(url).await?;
        let folder = tempfile::tempdir()?;
        let bench = Self {
            line,
            backup: Arc::new(FileBackup::open(folder.path().join("store"))?),
            queues: (1..=queues)
                .map(|n| format!("TICKET:{n}").parse())
                .collect::<Result<_, _>>()?,
            probe: RedisProbe::connect(url).await?,
            _folder: folder,
        };
        stream::iter(bench.queues.iter().map(Ok))
            .try_for_each_concurrent(SETUPS, |queue| bench.create_queue(queue))
            .await?;
        Ok(bench)
    }

    /// Creates a queue in which a visitor stays in line: it is paused.
    async fn create_queue(&self, queue: &QueueId) -> Result<(), Box<dyn Error>> {
        let settings = json!({ "paused": true });
        let settings = settings.as_object().ok_or("an object")?;
        let configuration = configuration(&Settings::from_map(settings)?);
        self.line.configure(queue, &configuration, true).await?;
        let stored = StoredQueue {
            settings: settings.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        self.backup.create_queue(queue, &stored).await?;
        Ok(())
    }

    /// A promoter that writes metrics, as each deployment's does.
    fn start_promoter(&self) -> JoinHandle<()> {
        let (line, backup) = (self.line.clone(), self.backup.clone());
        let promoter = Promoter::new(line, backup, SettingsPolicy::default());
        let promoter = Arc::new(promoter.with_metrics(Metrics::new("bench", io::sink())));
        tokio::spawn(async move { promoter.run(std::future::pending()).await })
    }

    /// Measures the processor of Redis while each idle queue is ticked every second, and once all are parked.
    async fn measure_idle(&mut self) -> Result<(), Box<dyn Error>> {
        println!("idle_queues={}", self.queues.len());
        // The first rounds also sync, report on and check every queue.
        sleep(SETTLING).await;
        let every_second = self.probe.measure_core_share(BEFORE_PARKING).await?;
        println!("idle_core_share_ticked_every_second={every_second:.4}");
        while self.count_parked().await? < self.queues.len() {
            sleep(Duration::from_secs(1)).await;
        }
        let parked = self.probe.measure_core_share(WHILE_PARKED).await?;
        println!("idle_core_share={parked:.4}");
        println!("idle_core_share_ratio={:.3}", parked / every_second);
        Ok(())
    }

    /// How many queues have no heartbeat, which a parked queue lacks.
    async fn count_parked(&self) -> Result<usize, Box<dyn Error>> {
        let views: Vec<_> = stream::iter(&self.queues)
            .map(|queue| self.line.queue_view(queue))
            .buffer_unordered(SETUPS)
            .try_collect()
            .await?;
        Ok(views.iter().filter(|view| view.heartbeat_ms == 0).count())
    }

    /// Measures the rounds over queues with one visitor each, beside those that stay idle.
    async fn measure_busy(&mut self) -> Result<(), Box<dyn Error>> {
        let busy = &self.queues[..BUSY_QUEUES.min(self.queues.len())];
        stream::iter(busy.iter().map(Ok))
            .try_for_each_concurrent(SETUPS, |queue| self.enter(queue))
            .await?;
        // The promoter sees the visitors within three rounds.
        sleep(Duration::from_secs(8)).await;
        let before = self.probe.read_ticks(busy).await?;
        let rounds = self.probe.measure_rounds(busy, ROUNDS).await?;
        let share = self.probe.measure_core_share(Duration::from_secs(10)).await?;
        let after = self.probe.read_ticks(busy).await?;
        let least = before
            .iter()
            .zip(&after)
            .map(|(before, after)| after.rate_since(*before));
        println!("busy_queues={}", busy.len());
        println!("busy_round_seconds_median={:.3}", rounds[rounds.len() / 2]);
        println!(
            "busy_round_seconds_worst={:.3}",
            rounds.last().copied().unwrap_or(f64::NAN)
        );
        println!(
            "busy_ticks_per_second_least={:.3}",
            least.fold(f64::INFINITY, f64::min)
        );
        println!("busy_core_share={share:.4}");
        Ok(())
    }

    async fn enter(&self, queue: &QueueId) -> Result<(), Box<dyn Error>> {
        let salt = self.line.queue_view(queue).await?.configuration.salt;
        let id = IdKey::derive_for_queue(&root_key(), queue, &salt)?.entry_id(&Visitor::known("a")?);
        self.line.enter(queue, id, Arrival::Ordinary).await?;
        Ok(())
    }
}
