//! The harness that the suites share.

pub mod absent_head;
pub mod api;
pub mod attack;
pub mod caching_proxy;
pub mod captured_output;
pub mod chaos;
pub mod cluster;
pub mod entries;
pub mod follower;
pub mod functions;
pub mod in_process;
pub mod lambda;
pub mod lines;
pub mod network;
mod nginx;
pub mod own_redis;
pub mod preflight;
pub mod processor_time;
mod programs;
pub mod rehearsal;
pub mod runner;
pub mod servers;
pub mod stack;
pub mod stack_console;
pub mod template;
pub mod tickets;
pub mod waiting;
