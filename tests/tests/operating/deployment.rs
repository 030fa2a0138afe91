//! Functions of one deployment, each with connections of its own, and tables that no other test has.

use std::{collections::HashMap, sync::Arc, time::Duration};

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{Client, types::AttributeValue};
use serde_json::Value;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{
    id::{EntryId, QueueId},
    settings::Settings,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;
use vestibule_line_redis::RedisLine;
use vestibule_operate::{admin::Admin, promoter::Promoter};
use vestibule_tests::{
    captured_output::CapturedOutput,
    functions::root_key,
    lines::{Backend, fresh_queue},
    servers,
};

/// Longer than anything here takes on a machine that does much else.
pub(crate) const BOUND: Duration = Duration::from_secs(40);

pub(crate) struct Deployment {
    pub(crate) queue: QueueId,
    pub(crate) written: CapturedOutput,
    tables: TableNames,
    table: Client,
}

impl Deployment {
    pub(crate) async fn new() -> Self {
        let queue = fresh_queue();
        let prefix = queue.as_str().replace(':', "-");
        let tables = TableNames {
            queues: format!("{prefix}-queues"),
            entries: format!("{prefix}-entries"),
        };
        let config = aws_config::defaults(BehaviorVersion::latest())
            .endpoint_url(servers::dynamodb_url())
            .load()
            .await;
        let this = Self {
            queue,
            written: CapturedOutput::default(),
            tables,
            table: Client::new(&config),
        };
        let backup = this.backup().await;
        backup.create_tables_if_missing().await.expect("tables");
        this
    }

    pub(crate) async fn backup(&self) -> DynamoDbBackup {
        DynamoDbBackup::connect(Connection {
            endpoint_url: Some(servers::dynamodb_url()),
            tables: self.tables.clone(),
        })
        .await
    }

    pub(crate) async fn line(&self) -> RedisLine {
        let line = RedisLine::connect(&Backend::Redis.url()).await;
        line.expect("Redis answers").with_metrics(self.written.metrics())
    }

    pub(crate) async fn promoter(&self) -> Arc<Promoter> {
        let (line, backup) = (Arc::new(self.line().await), Arc::new(self.backup().await));
        let promoter = Promoter::new(line, backup, SettingsPolicy::default());
        Arc::new(promoter.with_metrics(self.written.metrics()))
    }

    pub(crate) async fn admin(&self) -> Admin {
        Admin {
            line: Arc::new(self.line().await),
            backup: Arc::new(self.backup().await),
            root_key: root_key(),
            policy: SettingsPolicy::default(),
        }
    }

    /// The settings in force.
    pub(crate) async fn in_force(&self, line: &RedisLine) -> Settings {
        line.queue_view(&self.queue)
            .await
            .expect("seen")
            .configuration
            .settings
    }

    /// Changes the item of the queue as the console's form does. `expression` names attributes as `#settings.#batch`.
    pub(crate) async fn edit(&self, expression: &str, value: Option<AttributeValue>) {
        let mut update = self
            .table
            .update_item()
            .table_name(&self.tables.queues)
            .key("queue", AttributeValue::S(self.queue.to_string()))
            .key("part", AttributeValue::S("settings".to_owned()))
            .update_expression(expression)
            .set_expression_attribute_values(value.map(|value| [(":value".to_owned(), value)].into()));
        let names = expression.split(|c: char| !(c.is_ascii_lowercase() || "#_".contains(c)));
        for name in names.filter(|name| name.starts_with('#')) {
            update = update.expression_attribute_names(name, &name[1..]);
        }
        update.send().await.expect("written");
    }

    /// Puts an item where that of an entry belongs which is none of ours, as a hand may.
    pub(crate) async fn damage(&self, id: EntryId) {
        let put = self
            .table
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(self.entry_key(id)))
            .item("status", AttributeValue::N("1".to_owned()));
        put.send().await.expect("written");
    }

    /// Deletes the item of an entry.
    pub(crate) async fn delete_entry(&self, id: EntryId) {
        let delete = self.table.delete_item().table_name(&self.tables.entries);
        let deleted = delete.set_key(Some(self.entry_key(id))).send().await;
        deleted.expect("deleted");
    }

    fn entry_key(&self, id: EntryId) -> HashMap<String, AttributeValue> {
        let shard = AttributeValue::S(format!("{}#1#{}", self.queue, id.shard()));
        let entry = AttributeValue::S(id.to_string());
        HashMap::from([("shard".to_owned(), shard), ("entry".to_owned(), entry)])
    }

    /// Deletes the item of a part.
    pub(crate) async fn delete(&self, part: &str) {
        let delete = self
            .table
            .delete_item()
            .table_name(&self.tables.queues)
            .key("queue", AttributeValue::S(self.queue.to_string()))
            .key("part", AttributeValue::S(part.to_owned()));
        delete.send().await.expect("deleted");
    }

    /// The whole item of the settings.
    pub(crate) async fn item(&self) -> HashMap<String, AttributeValue> {
        let read = self
            .table
            .get_item()
            .table_name(&self.tables.queues)
            .key("queue", AttributeValue::S(self.queue.to_string()))
            .key("part", AttributeValue::S("settings".to_owned()))
            .consistent_read(true);
        read.send().await.expect("read").item.expect("is there")
    }

    /// Saves a whole item, as the console's JSON view does.
    pub(crate) async fn put(&self, item: HashMap<String, AttributeValue>) {
        let put = self.table.put_item().table_name(&self.tables.queues);
        put.set_item(Some(item)).send().await.expect("written");
    }
}

/// The result of an order that must be carried out.
pub(crate) async fn done(admin: &Admin, order: Value) -> Value {
    let mut answer = admin.handle(order.clone()).await;
    assert_eq!(answer["ok"], true, "{order}: {answer}");
    answer["result"].take()
}
