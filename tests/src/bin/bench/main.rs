//! Measures Vestibule. Each benchmark is a subcommand, which prints its figures, one `name=value` a line. It compares what it
//! measures with an anchor of the same run, because on a shared machine an absolute figure says little.
//!
//! `make bench NAME=line` builds what a benchmark needs, and starts its servers. With `--against PATH` a benchmark is compared
//! with an earlier build of this program. `--small` is for tests: it runs all parts, and its figures mean nothing.

mod attack;
mod cold;
mod compare;
mod crowd;
mod fair;
mod fallback_ticks;
mod figures;
mod line;
mod queues;
mod requests;
mod restore;
mod scene;
mod size;
mod wake;

use std::{env, error::Error, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use tokio::runtime::Builder;

use self::{compare::Comparison, size::Size};

/// What a benchmark, or a part of one, comes to.
type BenchResult<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures Vestibule, and prints one `name=value` a line. Run it with `make bench NAME=line`, which starts the servers.
#[derive(Debug, Parser)]
#[command(name = "bench", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
    #[command(flatten)]
    common: CommonOptions,
}

#[derive(Debug, Args)]
struct CommonOptions {
    /// Run all parts at the size of a test: the figures mean nothing
    #[arg(long, global = true)]
    small: bool,
    /// Compare with the earlier build PATH of this program: both run by turns, and each figure is printed as a ratio,
    /// `NAME_vs_old`. The programs beside PATH are those of the earlier build
    #[arg(long, global = true, value_name = "PATH")]
    against: Option<PathBuf>,
    /// How often both builds run
    #[arg(long, global = true, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// What honest visitors notice of one client at full speed
    Attack(attack::Options),
    /// The cold start, the memory and the size of the functions
    Cold,
    /// What a crowd over HTTP costs the origin, and what its visitors are told
    Crowd(crowd::Options),
    /// How fair the line is: order of promotions, draw, and the share of lower lanes
    Fair,
    /// How fast fallback ticks move a line while the promoter is off
    FallbackTicks,
    /// The line against Redis commands
    Line(line::Options),
    /// What idle queues cost Redis, and how long a round over busy ones takes
    Queues(queues::Options),
    /// The processor time of each request, and a plan's limit against what a sale costs Redis
    Requests(requests::Options),
    /// How long the restore of a lost Redis takes
    Restore(restore::Options),
    /// How soon held polls are answered, and the commands that Redis runs for that
    Wake(wake::Options),
}

/// What all benchmarks get.
#[derive(Debug)]
struct Context {
    /// The address of a Redis that the benchmark has for itself.
    redis_url: String,
    size: Size,
}

impl Benchmark {
    async fn run(self, context: &Context) -> BenchResult {
        match self {
            Self::Attack(options) => attack::measure(options, context).await,
            Self::Cold => cold::measure(context).await,
            Self::Crowd(options) => crowd::measure(&options, context).await,
            Self::Fair => fair::measure(context).await,
            Self::FallbackTicks => fallback_ticks::measure(context).await,
            Self::Line(options) => line::measure(&options, context).await,
            Self::Queues(options) => queues::measure(&options, context).await,
            Self::Requests(options) => requests::measure(&options, context).await,
            Self::Restore(options) => restore::measure(&options, context).await,
            Self::Wake(options) => wake::measure(&options, context).await,
        }
    }

    /// The programs that it starts. Those of an earlier build are beside its benchmark.
    fn programs(&self) -> &'static [&'static str] {
        match self {
            Self::Attack(_) | Self::Crowd(_) | Self::Line(_) => &["vestibule-local"],
            Self::Cold => &["empty_function", "enter"],
            Self::Requests(_) => &["empty_function", "enter", "vestibule-local"],
            _ => &[],
        }
    }
}

fn main() -> ExitCode {
    let Arguments { benchmark, common } = Arguments::parse();
    match run(benchmark, common) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(benchmark: Benchmark, common: CommonOptions) -> BenchResult {
    if let Benchmark::Wake(wake::Options {
        visitors: Some(process),
        ..
    }) = &benchmark
    {
        // One thread is enough for the visitors. A second one would take time from the API.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(wake::run_visitors(process));
    }
    let redis_url =
        env::var("TEST_REDIS_URL").map_err(|_| "TEST_REDIS_URL is not set: run `make bench NAME=…`")?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    if let Some(old) = common.against {
        let comparison = Comparison::new(&old, benchmark.programs(), env::args().skip(1))?;
        return runtime.block_on(comparison.run(&redis_url, common.rounds));
    }
    let size = Size {
        is_small: common.small,
    };
    runtime.block_on(benchmark.run(&Context { redis_url, size }))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
