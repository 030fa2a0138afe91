//! The command `create` with a list of queues: adds up to a thousand in one order.

use std::{collections::HashSet, time::Duration};

use futures_util::{StreamExt, stream};
use serde_json::{Map, Value};
use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_wire::results::{CreatedQueues, CreationRow, NewQueue, to_value};

use super::{
    Admin, Problem,
    create::{CreatedQueue, NewSettings},
    defaults::DefaultsTable,
    settings::reject_blocked,
};

/// How many queues are created at the same time.
const CONCURRENT_CREATES_MAX: usize = 16;
/// The command starts to create no further queue after this time, so that it answers before the function's
/// timeout.
const CREATE_TIME_MAX: Duration = Duration::from_mins(4);

/// One queue of an order.
struct OrderedQueue {
    /// The name as the operator gave it, which need not be a queue id.
    name: Value,
    settings: Result<(QueueId, NewSettings), Problem>,
}

impl Admin {
    /// Adds many queues with the same settings. Each has a row in the answer, and none stops another. The
    /// command is idempotent: repeated, it adds those that failed, and its rows tell which queues exist.
    pub(super) async fn create_many(
        &self,
        names: &[Value],
        given: &Map<String, Value>,
    ) -> Result<Value, Problem> {
        reject_blocked(given)?;
        let defaults = DefaultsTable::read(&*self.backup).await?;
        let ordered = self.order_queues(&defaults, names, given);
        if let Some(problem) = find_common_problem(&ordered) {
            return Err(problem);
        }
        let until = Instant::now() + CREATE_TIME_MAX;
        let rows: Vec<_> = stream::iter(ordered)
            .map(|queue| self.create_row(queue, until))
            .buffered(CONCURRENT_CREATES_MAX)
            .collect()
            .await;
        let count = |created: bool| {
            let new = rows.iter().filter_map(|row| row.new.as_ref());
            new.filter(|new| new.created == created).count()
        };
        let (created, existing) = (count(true), count(false));
        Ok(to_value(CreatedQueues {
            failed: rows.len() - created - existing,
            queues: rows,
            created,
            existing,
        }))
    }

    /// The settings of each queue that the order names. A name that is given twice counts once.
    fn order_queues(
        &self,
        defaults: &DefaultsTable,
        names: &[Value],
        given: &Map<String, Value>,
    ) -> Vec<OrderedQueue> {
        let mut known = HashSet::new();
        let distinct = names.iter().filter(|name| known.insert(name.to_string()));
        let order = |name: &Value| {
            let queue = parse_name(name);
            let settings = queue.and_then(|queue| {
                let settings = self.settings_of_new_queue(defaults, &queue, given)?;
                Ok((queue, settings))
            });
            let name = name.clone();
            OrderedQueue { name, settings }
        };
        distinct.map(order).collect()
    }

    /// Adds one queue. Returns its row of the answer.
    async fn create_row(&self, ordered: OrderedQueue, until: Instant) -> CreationRow {
        let creation = async {
            let (queue, new) = ordered.settings?;
            if Instant::now() >= until {
                return Err(Problem::no_time_left());
            }
            let created = self.create_with_settings(&queue, &new.settings).await?;
            Ok((created, new.pattern))
        };
        let (new, problem) = match creation.await {
            Ok((
                CreatedQueue {
                    created,
                    configuration,
                },
                pattern,
            )) => {
                let new = NewQueue {
                    created,
                    defaults: pattern.map(|pattern| pattern.to_string()),
                    revision: configuration.revision,
                };
                (Some(new), None)
            }
            Err(problem) => (None, Some(problem.to_value())),
        };
        let queue = ordered.name;
        CreationRow { queue, new, problem }
    }
}

/// The problem that all queues with a valid name share, because of the settings of the order or the same
/// defaults. The order is refused for it as a whole.
fn find_common_problem(ordered: &[OrderedQueue]) -> Option<Problem> {
    let mut of_names = ordered.iter().filter(|queue| parse_name(&queue.name).is_ok());
    let first = of_names.next()?.settings.as_ref().err()?;
    of_names
        .all(|queue| queue.settings.as_ref().err() == Some(first))
        .then(|| first.clone())
}

fn parse_name(name: &Value) -> Result<QueueId, Problem> {
    let text = name
        .as_str()
        .ok_or_else(|| Problem::invalid_field("queues", "each must be a string"))?;
    text.parse()
        .map_err(|error| Problem::invalid_id("queues", &error))
}
