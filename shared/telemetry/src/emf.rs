//! Metrics in CloudWatch's
//! [embedded metric format](https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html):
//! a JSON object on one line of the logs, out of which CloudWatch takes the values. Nothing is sent by this process, and
//! nothing waits to be sent: a function may be frozen right after its answer.

use std::{
    env, fmt,
    io::{self, Write},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use serde_json::{Map, Value, json};
use vestibule_domain::id::QueueId;

use super::metrics::{DEPLOYMENT, DIMENSION_SETS, Metric, NAMESPACE, QUEUE};

/// No metric may have more values than this in one document.
pub const VALUES_MAX: usize = 100;

/// Where the metrics of one deployment are written, or nowhere.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Sink>>);

struct Sink {
    deployment: String,
    out: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deployment = self.0.as_ref().map(|sink| &sink.deployment);
        f.debug_tuple("Metrics").field(&deployment).finish()
    }
}

impl Metrics {
    /// Writes none.
    pub fn none() -> Self {
        Self(None)
    }

    /// Writes those of the deployment of that name.
    pub fn new(deployment: impl Into<String>, out: impl Write + Send + 'static) -> Self {
        Self(Some(Arc::new(Sink {
            deployment: deployment.into(),
            out: Mutex::new(Box::new(out)),
        })))
    }

    /// Those of this process: on standard output where `VESTIBULE_DEPLOYMENT` names the deployment, else none.
    pub fn of_process() -> Self {
        static OF_PROCESS: LazyLock<Metrics> = LazyLock::new(|| {
            let deployment = env::var("VESTIBULE_DEPLOYMENT").unwrap_or_default();
            if deployment.is_empty() {
                Metrics::none()
            } else {
                Metrics::new(deployment, io::stdout())
            }
        });
        OF_PROCESS.clone()
    }

    /// Whether anything is written: where not, nothing needs to be measured.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Writes what was measured of a queue, on one line: for each metric a number, or an array of at most
    /// [`VALUES_MAX`] of them.
    pub fn write(&self, queue: &QueueId, measured: impl IntoIterator<Item = (Metric, Value)>) {
        let Some(sink) = &self.0 else { return };
        // As CloudWatch goes by the world's time.
        let now_ms = vestibule_clock::now_ms();
        let document = document(&sink.deployment, queue, now_ms, measured);
        let line = format!("{document}\n");
        // The lock guards a stream: there is nothing that a panic could leave half done.
        let mut out = sink.out.lock().unwrap_or_else(PoisonError::into_inner);
        // In one piece, since others write there too. Where nobody reads the output any more, the metric goes unsaid.
        let _ = out.write_all(line.as_bytes());
    }
}

fn document(
    deployment: &str,
    queue: &QueueId,
    now_ms: u64,
    measured: impl IntoIterator<Item = (Metric, Value)>,
) -> Value {
    let (mut definitions, mut fields) = (Vec::new(), Map::new());
    for (metric, value) in measured {
        definitions.push(json!({ "Name": metric.name, "Unit": metric.unit }));
        fields.insert(metric.name.to_owned(), value);
    }
    fields.insert(DEPLOYMENT.to_owned(), deployment.into());
    fields.insert(QUEUE.to_owned(), queue.as_str().into());
    let directive = json!({
        "Namespace": NAMESPACE,
        "Dimensions": DIMENSION_SETS,
        "Metrics": definitions,
    });
    let metadata = json!({ "Timestamp": now_ms, "CloudWatchMetrics": [directive] });
    fields.insert("_aws".to_owned(), metadata);
    fields.into()
}

#[cfg(test)]
mod tests {
    use super::{
        super::metrics::{ALL, REDIS_ROUND_TRIP, WAITING},
        *,
    };

    /// What the specification asks of a document, word for word.
    #[test]
    fn a_document_is_as_the_specification_has_it() {
        let queue = "TIMEDEAL:123".parse().expect("a queue id");
        let measured = [(WAITING, json!(7)), (REDIS_ROUND_TRIP, json!([0.5, 1.25]))];
        assert_eq!(
            document("shop", &queue, 1_788_220_800_123, measured),
            json!({
                "_aws": {
                    "Timestamp": 1_788_220_800_123_u64,
                    "CloudWatchMetrics": [{
                        "Namespace": "Vestibule",
                        "Dimensions": [["Deployment"], ["Deployment", "Queue"]],
                        "Metrics": [
                            { "Name": "Waiting", "Unit": "Count" },
                            { "Name": "RedisRoundTripMs", "Unit": "Milliseconds" },
                        ],
                    }],
                },
                "Deployment": "shop",
                "Queue": "TIMEDEAL:123",
                "Waiting": 7,
                "RedisRoundTripMs": [0.5, 1.25],
            })
        );
    }

    #[test]
    fn a_name_tells_its_unit_and_stands_for_one_metric() {
        for (place, metric) in ALL.iter().enumerate() {
            let unit = if metric.name.ends_with("Ms") {
                "Milliseconds"
            } else {
                "Count"
            };
            assert_eq!(metric.unit, unit, "{}", metric.name);
            assert!(
                ALL[..place].iter().all(|other| other.name != metric.name),
                "{}",
                metric.name
            );
        }
    }
}
