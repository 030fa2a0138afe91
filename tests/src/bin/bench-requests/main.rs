//! Measures the processor time of each kind of request, of the whole process of the function that serves it. Then a sale
//! passes through the runner, and what it costs Redis is compared with what a plan assumes.
//!
//! It prints one `name=value` a line. Run it with `make bench-requests`, which starts the servers.

mod functions;
mod sale;

use std::{env, error::Error};

const VISITORS: u32 = 2_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let visitors = arguments.next().map_or(Ok(VISITORS), |count| count.parse())?;
    functions::measure(usize::try_from(visitors)?).await?;
    sale::measure(visitors).await
}
