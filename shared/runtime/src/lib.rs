//! How a function starts: its configuration, its connections, and what it serves.
//!
//! The functions that answer requests run on one thread (`current_thread`): an execution answers one request at a time, and two
//! threads would hand its tasks over to each other, which took 1.3 to 1.8 times the processor time for the document, a poll and
//! entering (`make bench NAME=requests`). The promoter, the admin function and the widget work on many queues at once, on all threads.

use mimalloc::MiMalloc;

pub mod config;
pub mod event_bridge;
pub mod start;

/// Of the instructions of a poll, a quarter were in the allocator of the system.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
