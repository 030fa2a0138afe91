//! The Lambda authorizer for an API of API Gateway that the shop owns: it lets the requests of admitted
//! visitors through. See `docs/authorizer.md`.
//!
//! An authorizer can only allow or deny. A denial carries its reason and the time after which to try
//! again in its context, and the gateway shows them. So every failure, also an outage, is a denial with
//! the code of the problem; only an event that no authorizer receives is an error of the function.

mod admission;
mod answer;
mod credential;
mod event;
mod queue_filter;

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;
use tracing::{Instrument, field::Empty, info_span};

pub use self::{admission::Authorizer, event::InvalidEvent};
use self::{event::AuthorizerEvent, queue_filter::QueueFilter};
use crate::{Services, config::AuthorizerConfig};

impl Authorizer {
    /// Creates the authorizer. Without a queue in its configuration it denies every request.
    pub fn new(services: Services, config: AuthorizerConfig) -> Arc<Self> {
        if config.queues.is_empty() {
            tracing::warn!(
                event = "authorizer.without_queue",
                "the authorizer denies every request, because its configuration names no queue; set \
                 VESTIBULE_AUTHORIZER_QUEUES"
            );
        }
        Arc::new(Self { services, config })
    }

    /// Answers one event: with a policy for a REST API, and with a simple response for an HTTP API.
    ///
    /// # Errors
    /// [`InvalidEvent`] if the event is not one that API Gateway sends to an authorizer.
    pub async fn authorize(&self, event: Value) -> Result<Value, InvalidEvent> {
        let event = AuthorizerEvent::parse(event)?;
        let request_id = event.request_id.clone().unwrap_or_default();
        let span = info_span!("authorize", request_id, queue = Empty, entry = Empty);
        let queues = QueueFilter::for_event(&self.config.queues, &event);
        let decision = async {
            self.services.identity.passes.refresh_if_due().await;
            let decision = self.admit(&event, &queues).await;
            if let Err(denial) = &decision {
                denial.problem.log();
            }
            decision
        };
        let decision = decision.instrument(span).await;
        Ok(answer::build_answer(&event.format, queues.only_queue(), decision))
    }
}

/// Serves events until the function stops.
///
/// # Errors
/// Returns an error if Lambda's runtime interface fails.
pub async fn serve(authorizer: Arc<Authorizer>) -> Result<(), Error> {
    lambda_runtime::run_concurrent(service_fn(move |event: LambdaEvent<Value>| {
        let authorizer = authorizer.clone();
        async move { authorizer.authorize(event.payload).await.map_err(Error::from) }
    }))
    .await
}
