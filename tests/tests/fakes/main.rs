//! One client puts thousands of fakes in line, which never poll. An honest visitor behind them hardly waits longer.
//!
//! The fakes come over HTTP, each with an id of its own, and the line is in Redis. The tests with 100,000 fakes are long.

mod absent_head;
mod fakes;
mod full_line;
mod idle_queue;
mod scene;
mod waiting_line;
