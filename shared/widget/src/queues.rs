//! The answers of the admin function, as far as the widget shows them.

use serde::Deserialize;
use serde_json::Value;

use crate::figures;

/// The most queues that the widget lists, so that its answer stays small: about 1.5 KB for each.
const ROWS_MAX: usize = 25;

/// The expected wait of the last visitor in line, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Wait {
    pub(crate) high: u64,
}

/// The numbers of one queue, from the command `list`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Numbers {
    pub(crate) now_ms: u64,
    pub(crate) state: String,
    pub(crate) mode: String,
    pub(crate) waiting: u64,
    pub(crate) called: u64,
    pub(crate) present: u64,
    pub(crate) absent: u64,
    pub(crate) ready: u64,
    pub(crate) active: u64,
    pub(crate) held: u64,
    pub(crate) capacity: u64,
    pub(crate) batch: u64,
    pub(crate) interval_seconds: u64,
    pub(crate) estimated_wait_seconds: Option<Wait>,
    pub(crate) completed: u64,
}

impl Numbers {
    /// The slots of the capacity that are taken.
    pub(crate) fn taken(&self) -> u64 {
        self.ready + self.active + self.held
    }

    /// Whether neither pace nor capacity count.
    pub(crate) fn is_passthrough(&self) -> bool {
        self.mode == "passthrough"
    }

    /// The state as a word.
    pub(crate) fn state_word(&self) -> &str {
        match self.state.as_str() {
            "scheduled" => "Not open yet",
            "open" => "Open",
            "paused" => "Paused",
            "draining" => "Draining",
            "closed" => "Closed",
            "finished" => "Finished",
            other => other,
        }
    }

    /// The pace in force, as words.
    pub(crate) fn pace_words(&self) -> String {
        if self.is_passthrough() {
            "no limit".to_owned()
        } else {
            figures::pace(self.batch, self.interval_seconds)
        }
    }

    /// When the last visitor in line gets in, as a time of day. `None` if none waits, or if there is no estimate.
    pub(crate) fn expected_end(&self, utc_offset_minutes: i64) -> Option<String> {
        let wait = self.estimated_wait_seconds?;
        let end_ms = self.now_ms + wait.high * 1_000;
        Some(figures::clock_time(end_ms, self.now_ms, utc_offset_minutes))
    }
}

/// One queue of the list: its numbers, or why it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) queue: String,
    pub(crate) numbers: Result<Numbers, String>,
}

impl Row {
    fn from_value(value: &Value) -> Self {
        let problem = value["problem"].as_str().map(str::to_owned);
        Self {
            queue: value["queue"].as_str().unwrap_or_default().to_owned(),
            numbers: match problem {
                Some(problem) => Err(problem),
                None => Numbers::deserialize(value)
                    .map_err(|error| format!("its numbers cannot be read: {error}")),
            },
        }
    }

    fn waiting(&self) -> u64 {
        self.numbers.as_ref().map_or(0, |numbers| numbers.waiting)
    }
}

/// All queues of the deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overview {
    /// The queues in which most visitors wait come first.
    pub(crate) rows: Vec<Row>,
    /// How many queues are left out.
    pub(crate) left_out: usize,
    /// Why there is no list.
    pub(crate) problem: Option<String>,
}

impl Overview {
    /// Reads the answer to the command `list`.
    pub(crate) fn from_answer(answer: &Value) -> Self {
        let listed = answer["result"]["queues"].as_array();
        let mut rows: Vec<_> = listed.into_iter().flatten().map(Row::from_value).collect();
        // A queue without numbers is first: it needs a look.
        rows.sort_by_key(|row| (row.numbers.is_ok(), u64::MAX - row.waiting(), row.queue.clone()));
        let left_out = rows.len().saturating_sub(ROWS_MAX);
        rows.truncate(ROWS_MAX);
        Self {
            rows,
            left_out,
            problem: problem_of(answer),
        }
    }

    /// The queue to show in detail: the wanted one, or else the one in which most visitors wait.
    pub(crate) fn choose<'a>(&'a self, wanted: Option<&'a str>) -> Option<&'a str> {
        let busiest = self.rows.iter().find(|row| row.numbers.is_ok());
        wanted.or(busiest.map(|row| row.queue.as_str()))
    }
}

/// The queue that is shown in detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) queue: String,
    /// Its numbers, or why there are none.
    pub(crate) details: Result<Details, String>,
}

/// What is shown of one queue only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) numbers: Numbers,
    /// Why no visitor is let in, as the queue names it: such as `capacity`.
    pub(crate) limited_by: Option<String>,
    pub(crate) no_shows: u64,
    pub(crate) left: u64,
    pub(crate) expired: u64,
    /// The message that visitors see, in the language of most.
    pub(crate) message: Option<String>,
    /// In how many languages visitors see it.
    pub(crate) message_languages: usize,
    /// The revision of the settings, by which an order is refused if a colleague was quicker.
    pub(crate) revision: Option<String>,
}

impl Chosen {
    /// Reads the answers to `stats` and `describe`.
    pub(crate) fn from_answers(queue: &str, stats: &Value, description: &Value) -> Self {
        Self {
            queue: queue.to_owned(),
            details: Details::from_answers(stats, description),
        }
    }
}

impl Details {
    fn from_answers(stats: &Value, description: &Value) -> Result<Self, String> {
        if let Some(problem) = problem_of(stats) {
            return Err(problem);
        }
        let stats = &stats["result"];
        let settings = &description["result"]["settings"];
        if settings.is_null() {
            return Err(
                problem_of(description).unwrap_or_else(|| "The line has no settings of it.".to_owned())
            );
        }
        let total = |name: &str| stats["totals"][name].as_u64().unwrap_or(0);
        // A row of the list has this total beside its counts.
        let mut row = stats.clone();
        row["completed"] = total("completed").into();
        let numbers =
            Numbers::deserialize(&row).map_err(|error| format!("its numbers cannot be read: {error}"))?;
        let message = match &settings["message"] {
            Value::String(text) => Some(text.clone()),
            Value::Object(texts) => {
                let language = texts.get("default").and_then(Value::as_str).unwrap_or("en");
                texts.get(language).and_then(Value::as_str).map(str::to_owned)
            }
            _ => None,
        };
        Ok(Self {
            numbers,
            limited_by: stats["limited_by"].as_str().map(str::to_owned),
            no_shows: total("no_shows"),
            left: total("left"),
            expired: total("expired"),
            message,
            message_languages: match &settings["message"] {
                Value::Object(texts) => texts.keys().filter(|name| *name != "default").count(),
                _ => 1,
            },
            revision: description["result"]["revision"].as_str().map(str::to_owned),
        })
    }
}

/// The problem of an answer, as a sentence. `None` if the command succeeded.
fn problem_of(answer: &Value) -> Option<String> {
    let problem = &answer["problem"];
    let part = |name: &str| problem[name].as_str().unwrap_or_default();
    (answer["ok"] != true).then(|| format!("{}: {}", part("title"), part("detail")))
}
