//! Measures the processor time of each kind of request, of the whole process of the function that serves it, also relative to
//! a function that does nothing. Then a sale passes through the runner, and what it costs Redis is compared with what a plan
//! assumes.

mod functions;
mod guest;
mod sale;

use clap::Args;

use crate::{BenchResult, Context};

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[arg(default_value_t = 2_000)]
    visitors: u32,
}

pub(crate) async fn measure(options: &Options, context: &Context) -> BenchResult {
    let visitors = context.size.count(options.visitors);
    functions::measure(usize::try_from(visitors)?, context.size).await?;
    sale::measure(visitors, context).await
}
