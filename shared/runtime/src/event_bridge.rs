//! The event bus in Amazon EventBridge.

use std::{env, time::Duration};

use async_trait::async_trait;
use aws_config::{SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_eventbridge::{
    Client, config,
    primitives::DateTime,
    types::{PutEventsRequestEntry, PutEventsResultEntry},
};
use vestibule_domain::{id::QueueId, queue_event::QueueEvent};
use vestibule_promoter::event_bus::{EVENT_SOURCE, EventBus, SendError};
use vestibule_wire::EventDetail;

/// The timeout of one call with its attempts. No visitor waits for it, and the next round sends again.
const OPERATION_TIMEOUT: Duration = Duration::from_millis(2_500);
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1_200);
const CONNECT_TIMEOUT: Duration = Duration::from_millis(800);
const ATTEMPTS_MAX: u32 = 2;

/// Where the events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBridgeConfig {
    /// The name of the bus.
    pub bus_name: String,
    /// The address of EventBridge; `None` for the region's own.
    pub endpoint_url: Option<String>,
    /// The name of the deployment, which is in the detail of each event.
    pub deployment: String,
}

impl EventBridgeConfig {
    /// Reads `VESTIBULE_EVENT_BUS`, the name of the bus, `VESTIBULE_EVENTS_ENDPOINT`, an address of EventBridge other than
    /// the region's own, and `VESTIBULE_DEPLOYMENT`. Returns `None` if no bus is set: then no events are sent.
    pub fn from_env() -> Option<Self> {
        Self::read(&|name| env::var(name).ok())
    }

    /// Reads the same variables with the given lookup. An empty variable counts as not set.
    pub fn read(vars: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name| vars(name).filter(|value| !value.is_empty());
        Some(Self {
            bus_name: set("VESTIBULE_EVENT_BUS")?,
            endpoint_url: set("VESTIBULE_EVENTS_ENDPOINT"),
            deployment: set("VESTIBULE_DEPLOYMENT").unwrap_or_else(|| "local".to_owned()),
        })
    }
}

/// A bus of EventBridge.
#[derive(Debug, Clone)]
pub struct EventBridge {
    client: Client,
    config: EventBridgeConfig,
}

impl EventBridge {
    /// Creates a client for this bus. It sends nothing yet.
    pub fn new(aws: &SdkConfig, config: EventBridgeConfig) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(OPERATION_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .build();
        let endpoint_url = config.endpoint_url.as_deref();
        let client = config::Builder::from(&vestibule_aws::config_for_endpoint(aws, endpoint_url))
            .timeout_config(timeouts)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX));
        Self {
            client: Client::from_conf(client.build()),
            config,
        }
    }

    fn to_entry(&self, queue: &QueueId, event: &QueueEvent) -> PutEventsRequestEntry {
        let at_ms = i64::try_from(event.noticed_at_ms).unwrap_or(i64::MAX);
        PutEventsRequestEntry::builder()
            .event_bus_name(&self.config.bus_name)
            .source(EVENT_SOURCE)
            .detail_type(event.kind.detail_type())
            .detail(EventDetail::new(&self.config.deployment, queue, event).to_json())
            .time(DateTime::from_millis(at_ms))
            .build()
    }
}

#[async_trait]
impl EventBus for EventBridge {
    async fn send(&self, queue: &QueueId, events: &[QueueEvent]) -> Vec<Result<(), SendError>> {
        let entries = events.iter().map(|event| self.to_entry(queue, event)).collect();
        let sent = self.client.put_events().set_entries(Some(entries)).send().await;
        match sent {
            Ok(answer) => read_outcomes(answer.entries(), events.len()),
            Err(error) => {
                let reason = format!("PutEvents: {}", vestibule_aws::failure_reason(&error));
                vec![Err(reason); events.len()]
            }
        }
    }
}

/// One outcome for each event. An event of which the answer says nothing counts as not accepted.
fn read_outcomes(answered: &[PutEventsResultEntry], events: usize) -> Vec<Result<(), SendError>> {
    let outcome = |entry: Option<&PutEventsResultEntry>| match entry {
        Some(entry) if entry.event_id().is_some() => Ok(()),
        Some(entry) => Err(format!(
            "{}: {}",
            entry.error_code().unwrap_or("no error code"),
            entry.error_message().unwrap_or("no message")
        )),
        None => Err("the answer lacks the event".to_owned()),
    };
    (0..events).map(|number| outcome(answered.get(number))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_tells_accepted_events_from_refused_ones() {
        let accepted = PutEventsResultEntry::builder().event_id("e1").build();
        let refused = PutEventsResultEntry::builder()
            .error_code("ThrottlingException")
            .error_message("too many")
            .build();
        let outcomes = read_outcomes(&[accepted, refused], 3);
        assert_eq!(outcomes[0], Ok(()));
        assert_eq!(outcomes[1], Err("ThrottlingException: too many".to_owned()));
        assert!(outcomes[2].is_err());
    }

    #[test]
    fn empty_bus_name_turns_events_off() {
        let with_bus = |bus: &str| {
            let bus = bus.to_owned();
            EventBridgeConfig::read(&move |name| (name == "VESTIBULE_EVENT_BUS").then(|| bus.clone()))
        };
        assert_eq!(with_bus(""), None);
        let config = with_bus("shop").expect("a bus");
        assert_eq!((config.bus_name.as_str(), config.endpoint_url), ("shop", None));
    }
}
