//! The line on a cluster of three primaries and three replicas: where its queues are, whom it trusts, and a primary that
//! dies in the middle of a load.

mod failover;
mod moved;
mod nodes;
mod reckoning;
mod scene;
mod spread;
mod story;
