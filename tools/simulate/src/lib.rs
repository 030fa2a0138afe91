//! A simulation of a queue. Visitors pass through the real pacing, the real wait estimate and the real
//! line. The clock is virtual: it jumps from one event to the next. Only the visitors are invented: when they
//! arrive and how they behave.
//!
//! - [`scenario`]: who arrives, and what happens to the queue meanwhile
//! - [`population`]: the visitors of a scenario, drawn from its seed
//! - [`simulation`]: one run, from the first arrival until the line is empty; [`outcome`]: its result
//! - `vestibule_crowd::checks::SlotChecker`: counts violations of pace and capacity independently of the line;
//!   [`estimate_accuracy`]: compares the wait estimates with the waits
//! - [`event_queue`]: the next step of each visitor
//! - [`scenario_runs`]: a scenario with several seeds; [`run_figures`]: the figures of one run or of several
//! - [`adaptive`]: the closed loop of a pace that follows the load of a service
//! - [`table`]: the printed tables; [`time_series`]: admission over time as text and CSV; [`plot`]: as a picture

pub mod adaptive;
pub mod arguments;
pub mod crowd_figures;
pub mod crowd_plan;
pub mod crowd_runs;
pub mod crowd_scenarios;
pub mod crowd_table;
pub mod deployment;
pub mod estimate_accuracy;
pub mod event_queue;
pub mod outcome;
pub mod parallel;
pub mod plot;
pub mod population;
pub mod run_figures;
pub mod scenario;
pub mod scenario_runs;
pub mod simulation;
pub mod table;
pub mod time_series;
pub mod traffic;
pub mod turn_order;
