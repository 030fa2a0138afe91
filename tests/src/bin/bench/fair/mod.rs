//! Measures how fair the line is: whether entries are promoted in the order in which their visitors entered, whether a draw
//! favours a place, and whether lanes of lower priority keep their share under a flood of visitors with priority.
//!
//! It measures no time. Each figure has its anchor: the order of entering, an even distribution, and the share that was asked for.

mod draw;
mod lanes;
mod order;

use vestibule_domain::id::{QueueId, Salt};
use vestibule_line::Line;
use vestibule_tests::lines::fresh_queue;

use crate::{BenchResult, Context, scene};

pub(crate) async fn measure(context: &Context) -> BenchResult {
    let line = Line::connect(&context.redis_url).await?;
    order::measure(&line, context.size).await?;
    draw::measure((0..10).map(|number| Salt::new([number; 32])))?;
    lanes::measure(&line, context.size).await
}

/// Creates a queue with these settings.
async fn create_queue(line: &Line, settings: serde_json::Value) -> BenchResult<QueueId> {
    let queue = fresh_queue();
    scene::create_queue(line, None, &queue, &settings).await?;
    Ok(queue)
}
