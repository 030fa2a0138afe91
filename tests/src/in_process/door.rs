//! The door of visitors to routes in the process of the test.

use axum::Router;
use vestibule_crowd::act::Act;

use super::{ApiRequest, ApiResponse, InProcessApi, QUEUE, send_to};
use crate::api::{ApiDoor, Transport};

/// The routes of one process.
#[derive(Debug, Clone)]
pub struct RoutesTransport(pub Router);

impl Transport for RoutesTransport {
    async fn exchange(&self, _: Act, request: ApiRequest) -> Option<ApiResponse> {
        Some(send_to(&self.0, request).await)
    }
}

impl InProcessApi {
    /// The door of its queue.
    pub fn door(&self) -> ApiDoor<RoutesTransport> {
        ApiDoor::new(RoutesTransport(self.router.clone()), QUEUE)
    }
}
