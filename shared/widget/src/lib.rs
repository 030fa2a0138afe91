//! The operator's overview of the queues as a custom widget of a CloudWatch dashboard: HTML and SVG, without a script.
//!
//! The console of AWS invokes the function with the rights of the person who looks at the dashboard. The function has two
//! names: its own shows the queues, and its alias [`ORDERS_ALIAS`] also takes orders. IAM decides who may invoke which
//! (`docs/adr/0050-a-widget-in-the-console.md`).
//!
//! # Layout
//! - `call`: what the console sends
//! - `order`: the three orders, and what they did
//! - `queues`: the answers of the admin function
//! - `page`, `floor`, `figures`: the HTML and the SVG

mod call;
mod figures;
mod floor;
mod order;
mod page;
mod queues;

use serde_json::{Value, json};
use vestibule_aws::admin_client::{AdminFunction, InvokeError};

pub use call::ORDERS_ALIAS;
use call::{Call, Endpoints};
use order::{Order, Outcome};
use queues::{Chosen, Overview};

/// What the function says about itself, when the console asks for its documentation.
const DOCUMENTATION: &str = include_str!("documentation.md");

/// Why the function cannot start.
#[derive(Debug, thiserror::Error)]
#[error("VESTIBULE_ADMIN_FUNCTION is not set; set it to the name or the ARN of the admin function")]
pub struct StartError;

/// The widget in front of the admin function of one deployment.
#[derive(Debug, Clone)]
pub struct Widget {
    admin: AdminFunction,
    /// Whether every name of the function takes orders. For emulators, which do not tell the function its alias.
    takes_orders_by_any_name: bool,
}

impl Widget {
    /// Creates the widget for the admin function that `VESTIBULE_ADMIN_FUNCTION` names. `any-name` in
    /// `VESTIBULE_WIDGET_ORDERS` is for emulators: then the function takes orders by each of its names.
    ///
    /// # Errors
    /// [`StartError`] if the variable is missing or empty.
    pub async fn from_env() -> Result<Self, StartError> {
        let name = std::env::var("VESTIBULE_ADMIN_FUNCTION").unwrap_or_default();
        if name.is_empty() {
            return Err(StartError);
        }
        let aws = vestibule_aws::load_config([None]).await;
        Ok(Self {
            admin: AdminFunction::new(&aws, name, None),
            takes_orders_by_any_name: std::env::var("VESTIBULE_WIDGET_ORDERS")
                .is_ok_and(|value| value == "any-name"),
        })
    }

    /// Answers one call of the console: HTML as a JSON string, or Markdown if the console asks for documentation.
    /// `invoked_arn` is the ARN by which Lambda was asked, with the alias if there is one.
    pub async fn handle(&self, event: &Value, invoked_arn: &str) -> Value {
        if event["describe"] == true {
            return json!(DOCUMENTATION);
        }
        let (call, endpoints) = (Call::from_event(event), Endpoints::from_invoked(invoked_arn));
        let outcome = match Order::from_event(event, &call) {
            None => None,
            Some(_) if !endpoints.takes_orders && !self.takes_orders_by_any_name => Some(Outcome::NotAllowed),
            Some(Err(problem)) => Some(Outcome::Refused(problem)),
            Some(Ok(order)) => Some(self.carry_out(&order).await),
        };
        let html = match self.read(&call).await {
            Ok((overview, chosen)) => {
                page::render(&call, &endpoints, &overview, chosen.as_ref(), outcome.as_ref())
            }
            Err(error) => {
                tracing::warn!(event = "widget.no_answer", %error, "the admin function did not list the queues");
                page::render_failure(&call, outcome.as_ref(), &error.to_string())
            }
        };
        json!(html)
    }

    async fn carry_out(&self, order: &Order) -> Outcome {
        let answer = self.admin.invoke(&order.to_command()).await;
        Outcome::from_answer(order, answer)
    }

    /// Reads all queues, and the details of the chosen one.
    async fn read(&self, call: &Call) -> Result<(Overview, Option<Chosen>), InvokeError> {
        let overview = Overview::from_answer(&self.admin.invoke(&json!({ "op": "list" })).await?);
        let Some(queue) = overview.choose(call.queue.as_deref()) else {
            return Ok((overview, None));
        };
        let (stats, describe) = (
            json!({ "op": "stats", "queue": queue }),
            json!({ "op": "describe", "queue": queue }),
        );
        let (stats, description) = tokio::try_join!(self.admin.invoke(&stats), self.admin.invoke(&describe))?;
        let chosen = Chosen::from_answers(queue, &stats, &description);
        Ok((overview, Some(chosen)))
    }
}
