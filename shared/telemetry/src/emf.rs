//! Metrics in CloudWatch's [embedded metric format].
//!
//! Each document is a JSON object on one line of the log, and CloudWatch extracts the values from
//! it. This process sends nothing and buffers nothing here, because Lambda may freeze a function
//! right after its answer.
//!
//! [embedded metric format]: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

use std::{
    env, fmt,
    io::{self, Write},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use serde_json::{Map, Value, json};
use vestibule_domain::id::QueueId;

use super::metrics::{DEPLOYMENT, DEPLOYMENT_DIMENSION_SETS, DIMENSION_SETS, Metric, NAMESPACE, QUEUE};

/// The most values that one document may contain for one metric.
pub const VALUES_MAX: usize = 100;

/// Writes the metrics of one deployment, or discards them.
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
    /// Metrics that are discarded.
    pub fn none() -> Self {
        Self(None)
    }

    /// Metrics of the given deployment, written to `out`.
    pub fn new(deployment: impl Into<String>, out: impl Write + Send + 'static) -> Self {
        Self(Some(Arc::new(Sink {
            deployment: deployment.into(),
            out: Mutex::new(Box::new(out)),
        })))
    }

    /// The metrics of this process. They go to standard output if `VESTIBULE_DEPLOYMENT` names the
    /// deployment; otherwise they are discarded.
    pub fn for_process() -> Self {
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

    /// Whether metrics are written. If not, the caller can skip the measurement.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Writes the measured values of a queue on one line. The value of a metric is a number, or an
    /// array of at most [`VALUES_MAX`] numbers.
    pub fn write(&self, queue: &QueueId, measured: impl IntoIterator<Item = (Metric, Value)>) {
        self.write_document(Some(queue), measured);
    }

    /// Writes measured values that belong to the whole deployment and to no queue.
    pub fn write_for_deployment(&self, measured: impl IntoIterator<Item = (Metric, Value)>) {
        self.write_document(None, measured);
    }

    fn write_document(&self, queue: Option<&QueueId>, measured: impl IntoIterator<Item = (Metric, Value)>) {
        let Some(sink) = &self.0 else { return };
        // The system's clock, because CloudWatch expects the world's time rather than line time.
        let now_ms = crate::clock::now_ms();
        let document = build_document(&sink.deployment, queue, now_ms, measured);
        let line = format!("{document}\n");
        // A panic cannot leave the stream behind the lock in an inconsistent state.
        let mut out = sink.out.lock().unwrap_or_else(PoisonError::into_inner);
        // One write per line, because other threads write to the same stream. If the stream is
        // closed, the metric is lost, and there is no place to report that.
        let _ = out.write_all(line.as_bytes());
    }
}

fn build_document(
    deployment: &str,
    queue: Option<&QueueId>,
    now_ms: u64,
    measured: impl IntoIterator<Item = (Metric, Value)>,
) -> Value {
    let (mut definitions, mut fields) = (Vec::new(), Map::new());
    for (metric, value) in measured {
        definitions.push(json!({ "Name": metric.name, "Unit": metric.unit }));
        fields.insert(metric.name.to_owned(), value);
    }
    fields.insert(DEPLOYMENT.to_owned(), deployment.into());
    if let Some(queue) = queue {
        fields.insert(QUEUE.to_owned(), queue.as_str().into());
    }
    let directive = json!({
        "Namespace": NAMESPACE,
        "Dimensions": if queue.is_some() { json!(DIMENSION_SETS) } else { json!(DEPLOYMENT_DIMENSION_SETS) },
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

    /// The document has the fields that the specification requires.
    #[test]
    fn a_document_follows_the_specification() {
        let queue = "TIMEDEAL:123".parse().expect("a queue id");
        let measured = [(WAITING, json!(7)), (REDIS_ROUND_TRIP, json!([0.5, 1.25]))];
        assert_eq!(
            build_document("shop", Some(&queue), 1_788_220_800_123, measured),
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
    fn a_document_of_the_deployment_has_no_queue() {
        let document = build_document("shop", None, 1, [(WAITING, json!(7))]);
        assert_eq!(document["Queue"], Value::Null);
        assert_eq!(
            document["_aws"]["CloudWatchMetrics"][0]["Dimensions"],
            json!([["Deployment"]])
        );
    }

    #[test]
    fn metric_names_are_unique_and_show_the_unit() {
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
