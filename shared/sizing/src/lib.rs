//! What a crowd asks of a deployment: the requests that reach each part, the part that is full first, and the cost.
//!
//! - [`ceilings`]: how much each part serves, and what a request costs the hash slot of the queue
//! - [`load`]: what a crowd asks of the parts
//! - [`part_load`]: what a crowd asks of one part, and what to do if that is too much
//! - [`crowd_sizing`]: how fast a queue can let a crowd in, and which part is full first
//! - [`service`]: how many visitors a protected service can handle
//! - [`facts`]: the limits, measurements and prices that all of this uses, with their sources
//! - [`cost`]: what that costs, by the prices of [`facts`]
//! - [`cost_table`]: the same crowd in several deployments

pub mod ceilings;
pub mod cost;
pub mod cost_table;
pub mod crowd_sizing;
pub mod facts;
pub mod load;
pub mod part_load;
pub mod service;
pub mod sizes;
