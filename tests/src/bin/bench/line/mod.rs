//! Measures the line in Redis against the raw commands that it uses.

mod absent;
mod http;
mod load;
mod memory;
mod ping;
mod rounds;

use clap::Args;
use vestibule_line::Line;

use crate::{BenchResult, Context, size::Size};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The entries of the long line
    #[arg(default_value_t = 1_000_000)]
    entries: usize,
}

/// What every measurement works on.
struct Bench {
    url: String,
    line: Line,
    size: Size,
}

pub(crate) async fn measure(options: &Options, context: &Context) -> BenchResult {
    let bench = Bench {
        line: Line::connect(&context.redis_url).await?,
        url: context.redis_url.clone(),
        size: context.size,
    };
    rounds::measure_enter(&bench).await?;
    memory::measure_long_line(&bench, context.size.count(options.entries)).await?;
    absent::measure_absent(&bench).await?;
    http::measure_rates(&bench).await
}
