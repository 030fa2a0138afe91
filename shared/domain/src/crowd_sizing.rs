//! What a crowd asks of a deployment: the requests that reach each part, the part that is full first, and the cost.
//!
//! - [`ceilings`]: how much each part serves, and what a request costs the hash slot of the queue
//! - [`load`]: what a crowd asks of the parts
//! - [`sizing`]: how fast a queue can let a crowd in, and which part is full first
//! - [`cost`]: what that costs, by the list of [`prices`]

pub mod ceilings;
pub mod cost;
pub mod load;
pub mod prices;
pub mod sizing;
