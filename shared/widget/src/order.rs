//! The orders of the widget, and what became of them.

use serde_json::{Value, json};
use vestibule_aws::admin_client::InvokeError;

use crate::call::Call;

/// Who gives an order, in the report of a queue. `CloudTrail` has the person: Lambda does not pass an IAM identity.
const CALLER: &str = "dashboard widget";

/// An order that the widget offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) queue: String,
    pub(crate) kind: OrderKind,
}

/// What an order does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OrderKind {
    Pause,
    Resume,
    /// Sets the message for all who wait. An empty text removes it. With the revision that the widget showed, it is refused
    /// if a colleague has set another one since.
    Message(String, Option<String>),
}

impl Order {
    /// Reads the order of an event. `None` if it has none, and an error that says what is wrong with it.
    pub(crate) fn from_event(event: &Value, call: &Call) -> Option<Result<Self, String>> {
        let name = event["order"].as_str()?;
        let Some(queue) = event["show"].as_str() else {
            return Some(Err("The order names no queue.".to_owned()));
        };
        let kind = match name {
            "pause" => OrderKind::Pause,
            "resume" => OrderKind::Resume,
            "message" => {
                let revision = event["revision"].as_str().map(str::to_owned);
                OrderKind::Message(call.message.trim().to_owned(), revision)
            }
            other => return Some(Err(format!("The widget has no order {other}."))),
        };
        Some(Ok(Self {
            queue: queue.to_owned(),
            kind,
        }))
    }

    /// The command for the admin function.
    pub(crate) fn to_command(&self) -> Value {
        let queue = &self.queue;
        match &self.kind {
            OrderKind::Pause => json!({ "op": "pause", "queue": queue, "caller": CALLER }),
            OrderKind::Resume => json!({ "op": "resume", "queue": queue, "caller": CALLER }),
            OrderKind::Message(text, revision) => {
                let message = Some(text).filter(|text| !text.is_empty());
                let settings = json!({ "message": message });
                json!({ "op": "update", "queue": queue, "settings": settings, "revision": revision, "caller": CALLER })
            }
        }
    }

    /// What the order did, as a sentence.
    fn done(&self) -> String {
        let queue = &self.queue;
        match &self.kind {
            OrderKind::Pause => format!("{queue} is paused: visitors may enter, and none is let in."),
            OrderKind::Resume => format!("{queue} lets visitors in again."),
            OrderKind::Message(text, _) if text.is_empty() => format!("{queue} shows no message any more."),
            OrderKind::Message(text, _) => format!("All who wait in {queue} are told: {text}"),
        }
    }
}

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was carried out.
    Done(String),
    /// It was not carried out, with the reason.
    Refused(String),
    /// The call did not come by the alias that takes orders.
    NotAllowed,
    /// The widget does not know whether it was carried out.
    Unknown(String),
}

impl Outcome {
    /// Reads the answer of the admin function to an order.
    pub(crate) fn from_answer(order: &Order, answer: Result<Value, InvokeError>) -> Self {
        match answer {
            Ok(answer) if answer["ok"] == true => Self::Done(order.done()),
            Ok(answer) => {
                let problem = &answer["problem"];
                let part = |name: &str| problem[name].as_str().unwrap_or_default();
                Self::Refused(format!("{}: {}", part("title"), part("detail")))
            }
            Err(error @ InvokeError::NotInvoked { .. }) => Self::Refused(error.to_string()),
            Err(error) => Self::Unknown(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, message: &str) -> Option<Result<Order, String>> {
        let event = json!({
            "order": name, "show": "TIMEDEAL:1", "revision": "abcd",
            "widgetContext": { "forms": { "all": { "message": message } } },
        });
        Order::from_event(&event, &Call::from_event(&event))
    }

    #[test]
    fn each_order_becomes_the_command_of_the_same_meaning() {
        for (name, message, command) in [
            ("pause", "", json!({ "op": "pause", "queue": "TIMEDEAL:1" })),
            ("resume", "", json!({ "op": "resume", "queue": "TIMEDEAL:1" })),
            (
                "message",
                " Soon ",
                json!({ "op": "update", "queue": "TIMEDEAL:1", "settings": { "message": "Soon" }, "revision": "abcd" }),
            ),
            (
                "message",
                " ",
                json!({ "op": "update", "queue": "TIMEDEAL:1", "settings": { "message": null }, "revision": "abcd" }),
            ),
        ] {
            let mut expected = command;
            expected["caller"] = json!(CALLER);
            let order = read(name, message).expect("an order").expect("a known one");
            assert_eq!(order.to_command(), expected);
        }
    }

    #[test]
    fn other_commands_are_no_orders_of_the_widget() {
        for name in ["reset", "finish", "", "list"] {
            assert!(matches!(read(name, ""), Some(Err(_))), "{name}");
        }
        assert_eq!(Order::from_event(&json!({}), &Call::from_event(&json!({}))), None);
    }

    #[test]
    fn refusals_say_why() {
        let order = read("pause", "").expect("an order").expect("a known one");
        let problem = json!({ "title": "Unknown queue", "detail": "check the name" });
        let answer = Ok(json!({ "ok": false, "problem": problem }));
        let expected = Outcome::Refused("Unknown queue: check the name".to_owned());
        assert_eq!(Outcome::from_answer(&order, answer), expected);
        let timeout = InvokeError::Failed {
            function: "admin".to_owned(),
            answer: "timed out".to_owned(),
        };
        assert!(matches!(
            Outcome::from_answer(&order, Err(timeout)),
            Outcome::Unknown(_)
        ));
    }
}
