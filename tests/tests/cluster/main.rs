//! The line on a cluster of three primaries and three replicas: on which primary each queue lies, which nodes
//! and certificates the line trusts, and a primary that dies in the middle of a load.

mod connect;
mod distribution;
mod failover;
mod scene;
mod slot_moved;
mod verify;
mod visitor;
