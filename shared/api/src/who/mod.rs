//! Who sends a request: the visitor, the protected service, and from where.

pub(crate) mod client_address;
pub(crate) mod credentials;
pub(crate) mod entering;
pub(crate) mod gateway;
pub(crate) mod identity_monitor;
pub(crate) mod named_visitor;
pub mod origin_key;
pub(crate) mod page_origin;
pub mod pass;
pub(crate) mod ticket;
pub(crate) mod viewer_host;
pub(crate) mod visitor;
pub(crate) mod visitor_limits;
