//! Fault injection for tests: [`Faults`] stand between a line and its server, and [`FaultyBackup`] decorates a backup. A
//! test changes what goes wrong while the line or backup is in use.
//!
//! [`MemoryKeyStore`] is a store of signing keys that fails when a test says so.
//!
//! An operation is named by the script of the line, for example `"promote"`, or by the method of the backup. Each call goes through these steps: it is counted; it
//! waits at the gate before the operation; it waits for the delay; it fails, if a fault says so; it reaches the real line
//! or backup; and it waits at the gate after the operation.

mod backup;
mod fault;
mod faults;
mod gate;
mod keys;
mod tap;

pub use self::{
    backup::FaultyBackup,
    fault::{Effect, Fault, RandomFault},
    faults::Faults,
    gate::Gate,
    keys::MemoryKeyStore,
};
