//! Measures how fair the line is: whether entries are promoted in the order in which their visitors entered, whether a draw
//! favours a place, and whether lanes of lower priority keep their share under a flood of visitors with priority.
//!
//! It prints one `name=value` a line. Run it with `make bench-fair`, which starts a Redis of its own.

mod draw;
mod lanes;
mod order;

use std::{env, error::Error};

use vestibule_domain::{
    id::{QueueId, Salt},
    settings::Settings,
};
use vestibule_line::Line;
use vestibule_tests::lines::{configuration, fresh_queue};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("TEST_REDIS_URL")
        .map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-fair`")?;
    let line = Line::connect(&url).await?;
    order::measure(&line).await?;
    draw::measure((0..10).map(|number| Salt::new([number; 32])))?;
    lanes::measure(&line).await
}

/// Creates a queue with these settings.
async fn create_queue(line: &Line, settings: serde_json::Value) -> Result<QueueId, Box<dyn Error>> {
    let queue = fresh_queue();
    let settings = settings.as_object().ok_or("settings are an object")?;
    let configuration = configuration(&Settings::from_map(settings)?);
    line.configure(&queue, &configuration, true).await?;
    Ok(queue)
}
