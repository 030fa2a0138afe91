//! Measures the line in Redis against the raw commands that it stands on, in ratios within one run: the machines that
//! this runs on are shared, so an absolute figure says little.
//!
//! Prints one `name=value` a line. Run it with `make bench-line`, which starts a Redis of its own.

mod edge;
mod load;
mod memory;
mod rounds;

use std::{env, error::Error};

use vestibule_line_redis::RedisLine;

/// What every measurement works on.
struct Bench {
    url: String,
    line: RedisLine,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("TEST_REDIS_URL")
        .map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-line`")?;
    let bench = Bench {
        line: RedisLine::connect(&url).await?,
        url,
    };
    rounds::enter(&bench).await?;
    memory::million(&bench).await?;
    edge::rates(&bench.url).await
}
