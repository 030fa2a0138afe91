//! What the tail of a function's log says about its start. It has the lines of the start only if Lambda started the
//! function for this call.

use serde_json::Value;

/// What a function logs if it starts without something that it needs only sometimes.
const TROUBLES: [&str; 2] = ["origin_key.read_failed", "server.started_without_line"];
/// The beginning of what a process writes that ends with an error.
const ERROR: &str = "Error: ";

/// The tail of a log.
pub(super) struct StartLog(pub(super) String);

impl StartLog {
    /// How long the function took to start, in milliseconds: `REPORT … Init Duration: 12.3 ms`, or a record
    /// `platform.report` in JSON. `None` if it ran already.
    pub(super) fn init_ms(&self) -> Option<f64> {
        self.0.lines().find_map(|line| {
            if let Some((_, rest)) = line.split_once("Init Duration: ") {
                return rest.split_whitespace().next()?.parse().ok();
            }
            let record: Value = serde_json::from_str(line).ok()?;
            record["record"]["metrics"]["initDurationMs"].as_f64()
        })
    }

    /// The error with which the process ended.
    pub(super) fn cause(&self) -> Option<String> {
        let mut causes = self.0.lines().rev().filter_map(|line| {
            // Lambda may wrap a line into JSON.
            let record: Value = serde_json::from_str(line).unwrap_or_default();
            let text = record["message"].as_str().unwrap_or(line);
            text.starts_with(ERROR).then(|| text[ERROR.len()..].to_owned())
        });
        causes.next()
    }

    /// What the function started without, each with the reason.
    pub(super) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        for line in self.0.lines() {
            let record: Value = serde_json::from_str(line).unwrap_or_default();
            let event = record["event"].as_str().unwrap_or_default();
            if TROUBLES.contains(&event) {
                let reason = record["reason"].as_str().or_else(|| record["error"].as_str());
                troubles.push(format!("{event}: {}", reason.unwrap_or_default()));
            }
        }
        troubles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> StartLog {
        StartLog(text.to_owned())
    }

    #[test]
    fn start_is_read_from_text_and_json() {
        let text = "START\nREPORT RequestId: 1\tDuration: 2.00 ms\tInit Duration: 141.52 ms\t\n";
        assert_eq!(log(text).init_ms(), Some(141.52));
        let json =
            r#"{"type":"platform.report","record":{"metrics":{"durationMs":2.0,"initDurationMs":98.5}}}"#;
        assert_eq!(log(json).init_ms(), Some(98.5));
        assert_eq!(log("REPORT RequestId: 1\tDuration: 2.00 ms\n").init_ms(), None);
    }

    #[test]
    fn cause_of_an_end_is_read_from_text_and_json() {
        let text = "INIT_START\nError: no root key\nSTART RequestId: 1\n";
        assert_eq!(log(text).cause().as_deref(), Some("no root key"));
        let json = r#"{"level":"UNDEFINED","message":"Error: no root key"}"#;
        assert_eq!(log(json).cause().as_deref(), Some("no root key"));
        assert_eq!(log("START RequestId: 1\n").cause(), None);
    }

    #[test]
    fn trouble_of_a_start_has_its_reason() {
        let failed =
            r#"{"level":"WARN","event":"origin_key.read_failed","reason":"denied","message":"could not"}"#;
        let other = r#"{"level":"WARN","event":"authorizer.without_queue","message":"denies"}"#;
        let log = log(&format!("INIT_START\n{other}\n{failed}\n"));
        assert_eq!(log.troubles(), ["origin_key.read_failed: denied"]);
    }
}
