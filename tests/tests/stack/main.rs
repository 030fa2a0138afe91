//! The suite of a deployed stack, which `infra/test-stack.sh` deploys to an emulator of AWS.

mod authorizer;
mod caller;
mod console;
mod events;
mod page;
mod preflight;
mod rehearsal;
mod visitors;
mod widget;
