//! Captures metrics or logs, so that a test can read them.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;
use vestibule_telemetry::{emf::Metrics, metrics::Metric};

/// All bytes written so far.
#[derive(Debug, Clone, Default)]
pub struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

impl Write for CapturedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for CapturedOutput {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl CapturedOutput {
    /// A metrics writer whose output is captured.
    pub fn metrics(&self) -> Metrics {
        Metrics::new("test", self.clone())
    }

    /// The captured text.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no writer panicked").clone()).expect("UTF-8")
    }

    /// The captured lines, each parsed as JSON.
    pub fn lines(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect()
    }

    /// All values of a metric, in the order written.
    pub fn values(&self, metric: Metric) -> Vec<f64> {
        let values = self
            .lines()
            .into_iter()
            .flat_map(|mut line| match line[metric.name].take() {
                Value::Array(values) => values,
                Value::Null => Vec::new(),
                value => vec![value],
            });
        values.map(|value| value.as_f64().expect("a number")).collect()
    }

    /// The sum of all values of a counting metric.
    pub fn sum(&self, metric: Metric) -> u64 {
        let lines = self.lines();
        lines.iter().filter_map(|line| line[metric.name].as_u64()).sum()
    }
}
