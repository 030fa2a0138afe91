//! Fault injection for tests: [`FaultyLine`] and [`FaultyBackup`] decorate a real line and a real backup. What goes wrong
//! is said by [`Faults`], which a test changes while the decorated line or backup is in use.
//!
//! [`MemoryKeyStore`] is a store of signing keys that fails when a test says so.
//!
//! An operation is named by its method, for example `"promote"`. Each call goes through these steps: it is counted; it
//! waits at the gate before the operation; it waits for the delay; it fails, if a fault says so; it reaches the real line
//! or backup; and it waits at the gate after the operation.

mod backup;
mod fault;
mod faults;
mod gate;
mod keys;
mod line;

pub use self::{
    backup::FaultyBackup,
    fault::{Effect, Fault, RandomFault},
    faults::Faults,
    gate::Gate,
    keys::MemoryKeyStore,
    line::FaultyLine,
};
