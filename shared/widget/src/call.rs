//! What the console of AWS sends with each call.

use serde_json::Value;

/// The alias of the function that takes orders.
pub const ORDERS_ALIAS: &str = "orders";

/// The colours of the dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    Light,
    Dark,
}

/// One call of the console, without its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) theme: Theme,
    /// The time zone of the dashboard: the offset from UTC in minutes, positive in the east.
    pub(crate) utc_offset_minutes: i64,
    /// The queue to show in detail. `None` if neither the person nor the dashboard named one.
    pub(crate) queue: Option<String>,
    /// The text in the field for the message.
    pub(crate) message: String,
}

impl Call {
    /// Reads an event. Whatever is missing has a default, because the console's test event has nothing.
    pub(crate) fn from_event(event: &Value) -> Self {
        let context = &event["widgetContext"];
        let form = &context["forms"]["all"];
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            theme: if context["theme"] == "dark" {
                Theme::Dark
            } else {
                Theme::Light
            },
            utc_offset_minutes: context["timezone"]["offsetISO"]
                .as_str()
                .and_then(parse_offset)
                .unwrap_or(0),
            // A refresh of the dashboard sends its own parameters, and the form still has the queue that was chosen.
            queue: [&event["show"], &form["queue"], &event["queue"]]
                .into_iter()
                .find_map(text),
            message: text(&form["message"]).unwrap_or_default(),
        }
    }
}

/// Parses an offset such as `+09:00` or `-03:30`.
fn parse_offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    // An offset has two digits each. A larger number would overflow.
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(sign * (i64::from(hours) * 60 + i64::from(minutes)))
}

/// The two ARNs of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoints {
    /// Shows the queues.
    pub(crate) show: String,
    /// Also takes orders.
    pub(crate) orders: String,
    /// Whether this call came by the ARN that takes orders. Lambda passes the ARN, and has checked the caller's right to it.
    pub(crate) takes_orders: bool,
}

impl Endpoints {
    /// Derives both from the ARN by which the function was invoked, such as
    /// `arn:aws:lambda:eu-west-1:123456789012:function:shop-widget:orders`.
    pub(crate) fn from_invoked(arn: &str) -> Self {
        let parts: Vec<_> = arn.splitn(8, ':').collect();
        let show = parts.iter().take(7).copied().collect::<Vec<_>>().join(":");
        Self {
            orders: format!("{show}:{ORDERS_ALIAS}"),
            show,
            takes_orders: parts.get(7) == Some(&ORDERS_ALIAS),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ARN: &str = "arn:aws:lambda:eu-west-1:123456789012:function:shop-widget";

    #[test]
    fn only_the_alias_takes_orders() {
        for (arn, takes_orders) in [
            (ARN.to_owned(), false),
            (format!("{ARN}:orders"), true),
            (format!("{ARN}:live"), false),
            (format!("{ARN}:orders:orders"), false),
            (String::new(), false),
        ] {
            assert_eq!(Endpoints::from_invoked(&arn).takes_orders, takes_orders, "{arn}");
        }
        let endpoints = Endpoints::from_invoked(&format!("{ARN}:orders"));
        assert_eq!(endpoints.show, ARN);
        assert_eq!(endpoints.orders, format!("{ARN}:orders"));
    }

    #[test]
    fn chosen_queue_outlives_a_refresh() {
        let refresh = json!({ "queue": "a", "widgetContext": { "forms": { "all": { "queue": "b" } } } });
        assert_eq!(Call::from_event(&refresh).queue.as_deref(), Some("b"));
        let choice = json!({ "show": "c", "widgetContext": { "forms": { "all": { "queue": "b" } } } });
        assert_eq!(Call::from_event(&choice).queue.as_deref(), Some("c"));
        assert_eq!(
            Call::from_event(&json!({ "queue": "a" })).queue.as_deref(),
            Some("a")
        );
        assert_eq!(Call::from_event(&json!({})).queue, None);
    }

    #[test]
    fn offsets_of_the_time_zone_are_read() {
        for (text, minutes) in [
            ("+09:00", 540),
            ("-03:30", -210),
            ("+00:00", 0),
            ("Z", 0),
            ("", 0),
            ("+9223372036854775807:00", 0),
            ("+é", 0),
        ] {
            let event = json!({ "widgetContext": { "timezone": { "offsetISO": text } } });
            assert_eq!(Call::from_event(&event).utc_offset_minutes, minutes, "{text}");
        }
    }
}
