//! The connection to one server or to a cluster.

mod address;
mod call_link;
mod cluster;
mod cluster_nodes;
mod connection;
#[cfg(feature = "embedded")]
mod embedded;
mod iam;
mod line_error;
mod link_test;
mod request;
mod server;
mod server_link;
mod subscriber;
mod subscriber_connection;
mod timeouts;

pub use self::{
    address::{Address, AddressError},
    iam::{IamLogin, IamUser, WallClock},
};
pub(super) use self::{connection::Connection, request::Request, timeouts::Timeouts};
