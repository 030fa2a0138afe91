//! Captures the metrics that a promoter writes.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use vestibule_telemetry::metrics::Metric;

#[derive(Clone, Default)]
pub(super) struct CapturedMetrics(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedMetrics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("whole").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CapturedMetrics {
    /// Returns every line, each parsed as JSON.
    pub(super) fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().expect("whole").clone()).expect("UTF-8");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect()
    }

    /// Returns every value of a metric, in the order of writing.
    pub(super) fn values(&self, metric: Metric) -> Vec<i64> {
        let values = self
            .lines()
            .into_iter()
            .flat_map(|mut line| match line[metric.name].take() {
                Value::Array(values) => values,
                Value::Null => Vec::new(),
                value => vec![value],
            });
        values
            .map(|value| value.as_i64().expect("a whole number"))
            .collect()
    }

    pub(super) fn sum(&self, metric: Metric) -> i64 {
        self.values(metric).iter().sum()
    }

    pub(super) fn last(&self, metric: Metric) -> i64 {
        *self.values(metric).last().expect("was written")
    }
}
