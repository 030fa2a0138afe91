//! What keeps queues going: the promoter's loop and the operators' commands.

pub mod admin;
pub mod promoter;
