//! A crowd in front of the real rules: the pacing, the estimate and the line in memory as the functions have them, and a
//! clock that jumps from one event to the next. What is made up is who comes, when, and how they behave.
//!
//! - [`scenario`]: who comes, and what happens to the queue meanwhile
//! - [`crowd`]: one visitor each, drawn from the scenario's seed
//! - [`world`]: the crowd, the line and whoever drives it, from the first arrival to the last one served;
//!   [`outcome`]: what came of that
//! - [`judge`]: what was promised, counted anew beside the line; [`told`]: what people were told against what came of it
//! - [`series`]: a scenario with several seeds; [`figures`]: how a crowd fared, and how several did
//! - [`table`]: what is printed; [`course`]: admission over time; [`plot`]: what is drawn

pub mod agenda;
pub mod course;
pub mod crowd;
pub mod figures;
pub mod judge;
pub mod outcome;
pub mod plot;
pub mod scenario;
pub mod series;
pub mod table;
pub mod told;
pub mod world;
