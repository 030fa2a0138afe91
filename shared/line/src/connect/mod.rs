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
#[cfg(feature = "test-hooks")]
mod tap;
mod timeouts;

#[cfg(feature = "test-hooks")]
pub use self::tap::{Sending, Tap, TappedRequest};
pub use self::{
    address::{Address, AddressError},
    iam::{IamLogin, IamUser, WallClock},
};
pub(super) use self::{connection::Connection, request::Request, timeouts::Timeouts};
