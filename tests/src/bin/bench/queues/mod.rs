//! Measures what many queues cost: the processor of Redis for idle ones, relative to ticking all of them each second, and how
//! long a round over busy ones takes.

mod redis_probe;

use std::{io, sync::Arc, time::Duration};

use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tokio::{task::JoinHandle, time::sleep};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::{IdKey, QueueId, Visitor};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Arrival, Line};
use vestibule_promoter::Promoter;
use vestibule_telemetry::emf::Metrics;
use vestibule_tests::functions::root_key;

use self::redis_probe::RedisProbe;
use crate::{
    BenchResult, Context,
    figures::{median, print_figure},
    scene::create_queue,
    size::Size,
};

/// How many of the idle queues get a visitor.
const BUSY_QUEUES: usize = 1_000;
/// How many queues are set up at the same time.
const SETUPS: usize = 32;
/// The processor is measured for this long while no queue is parked, and while all are.
const BEFORE_PARKING: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_secs(3);
const WHILE_PARKED: Duration = Duration::from_mins(1);
const WHILE_BUSY: Duration = Duration::from_secs(10);
/// The rounds of the busy queues that are measured.
const ROUNDS: u32 = 20;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How many queues are idle. Up to a thousand of them then get a visitor
    #[arg(default_value_t = 2_000)]
    queues: usize,
}

struct Bench {
    size: Size,
    line: Line,
    backup: Arc<FileBackup>,
    queues: Vec<QueueId>,
    probe: RedisProbe,
    _folder: tempfile::TempDir,
}

pub(crate) async fn measure(options: &Options, context: &Context) -> BenchResult {
    let mut bench = Bench::open(context, context.size.count(options.queues)).await?;
    let promoter = bench.start_promoter();
    bench.measure_idle().await?;
    bench.measure_busy().await?;
    promoter.abort();
    Ok(())
}

impl Bench {
    async fn open(context: &Context, queues: usize) -> BenchResult<Self> {
        let url = &context.redis_url;
        let line = Line::connect(url).await?;
        let folder = tempfile::tempdir()?;
        let bench = Self {
            size: context.size,
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
    async fn create_queue(&self, queue: &QueueId) -> BenchResult {
        create_queue(&self.line, Some(&*self.backup), queue, &json!({ "paused": true })).await?;
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
    async fn measure_idle(&mut self) -> BenchResult {
        println!("idle_queues={}", self.queues.len());
        // The first rounds also sync, report on and check every queue.
        sleep(SETTLING).await;
        let every_second = self
            .probe
            .measure_core_share(self.size.time(BEFORE_PARKING))
            .await?;
        print_figure("idle_core_share_ticked_every_second", every_second, 4);
        while self.count_parked().await? < self.queues.len() {
            sleep(Duration::from_secs(1)).await;
        }
        let parked = self
            .probe
            .measure_core_share(self.size.time(WHILE_PARKED))
            .await?;
        print_figure("idle_core_share", parked, 4);
        print_figure("idle_core_share_ratio", parked / every_second, 3);
        Ok(())
    }

    /// How many queues have no heartbeat, which a parked queue lacks.
    async fn count_parked(&self) -> BenchResult<usize> {
        let views: Vec<_> = stream::iter(&self.queues)
            .map(|queue| self.line.queue_view(queue))
            .buffer_unordered(SETUPS)
            .try_collect()
            .await?;
        Ok(views.iter().filter(|view| view.heartbeat_ms == 0).count())
    }

    /// Measures the rounds over queues with one visitor each, beside those that stay idle.
    async fn measure_busy(&mut self) -> BenchResult {
        let busy = &self.queues[..self.size.count(BUSY_QUEUES).min(self.queues.len())];
        stream::iter(busy.iter().map(Ok))
            .try_for_each_concurrent(SETUPS, |queue| self.enter(queue))
            .await?;
        // The promoter sees the visitors within three rounds.
        sleep(Duration::from_secs(8)).await;
        let before = self.probe.read_ticks(busy).await?;
        let rounds = self.probe.measure_rounds(busy, self.size.count(ROUNDS)).await?;
        let share = self.probe.measure_core_share(self.size.time(WHILE_BUSY)).await?;
        let after = self.probe.read_ticks(busy).await?;
        let least = before
            .iter()
            .zip(&after)
            .map(|(before, after)| after.rate_since(*before));
        println!("busy_queues={}", busy.len());
        let worst = rounds.iter().copied().fold(0.0, f64::max);
        print_figure("busy_round_seconds_median", median(rounds), 3);
        print_figure("busy_round_seconds_worst", worst, 3);
        print_figure(
            "busy_ticks_per_second_least",
            least.fold(f64::INFINITY, f64::min),
            3,
        );
        print_figure("busy_core_share", share, 4);
        Ok(())
    }

    async fn enter(&self, queue: &QueueId) -> BenchResult {
        let salt = self.line.queue_view(queue).await?.configuration.salt;
        let id = IdKey::derive_for_queue(&root_key(), queue, &salt)?.entry_id(&Visitor::known("a")?);
        self.line.enter(queue, id, Arrival::Ordinary).await?;
        Ok(())
    }
}
