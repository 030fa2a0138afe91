//! The functions of one deployment, each with its own connections, and tables that no other test uses.

use std::{collections::HashMap, sync::Arc, time::Duration};

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, ReturnValue},
};
use serde_json::Value;
use vestibule_admin::Admin;
use vestibule_backup_dynamodb::{Connection, DynamoDbBackup, TableNames};
use vestibule_domain::{
    id::{EntryId, QueueId},
    settings::Settings,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;
use vestibule_promoter::Promoter;
use vestibule_tests::{
    captured_output::CapturedOutput,
    functions::root_key,
    lines::{Backend, fresh_queue},
    servers,
};

/// A bound for each wait that also a busy machine keeps.
pub(crate) const BOUND: Duration = Duration::from_secs(40);

pub(crate) struct Deployment {
    pub(crate) queue: QueueId,
    pub(crate) written: CapturedOutput,
    /// Where the functions find DynamoDB. An operator's edits go to the emulator itself.
    pub(crate) dynamodb_url: String,
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
        let deployment = Self {
            queue,
            written: CapturedOutput::default(),
            dynamodb_url: servers::dynamodb_url(),
            tables,
            table: Client::new(&config),
        };
        let backup = deployment.backup().await;
        backup.create_tables_if_missing().await.expect("tables");
        deployment
    }

    pub(crate) async fn backup(&self) -> DynamoDbBackup {
        DynamoDbBackup::connect(Connection {
            endpoint_url: Some(self.dynamodb_url.clone()),
            tables: self.tables.clone(),
        })
        .await
    }

    pub(crate) async fn line(&self) -> Line {
        let line = Line::connect_patiently(&Backend::Redis.url()).await;
        line.expect("Redis answers").with_metrics(self.written.metrics())
    }

    pub(crate) async fn promoter(&self) -> Arc<Promoter> {
        let (line, backup) = (self.line().await, Arc::new(self.backup().await));
        let promoter = Promoter::new(line, backup, SettingsPolicy::default());
        Arc::new(promoter.with_metrics(self.written.metrics()))
    }

    pub(crate) async fn admin(&self) -> Admin {
        Admin {
            line: self.line().await,
            backup: Arc::new(self.backup().await),
            root_key: root_key().into(),
            policy: SettingsPolicy::default(),
            signing_keys: vestibule_tests::functions::fixed_signing_keys(),
        }
    }

    /// The settings that the line applies.
    pub(crate) async fn settings_in_force(&self, line: &Line) -> Settings {
        line.queue_view(&self.queue)
            .await
            .expect("seen")
            .view
            .configuration
            .settings
    }

    /// Changes the settings item as the form of the console does. `expression` names attributes as `#settings.#batch`.
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

    /// Replaces the item of an entry by one that cannot be read, as an edit in the console may.
    pub(crate) async fn damage_entry(&self, id: EntryId) {
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
        self.delete_entry_item(self.entry_key(id)).await;
    }

    /// Deletes the item with these keys from the table of entries.
    pub(crate) async fn delete_entry_item(&self, key: HashMap<String, AttributeValue>) {
        let delete = self.table.delete_item().table_name(&self.tables.entries);
        let delete = delete.set_key(Some(key));
        let deleted = delete.return_values(ReturnValue::AllOld).send().await;
        assert!(
            deleted.expect("deleted").attributes.is_some(),
            "there was no such item"
        );
    }

    fn entry_key(&self, id: EntryId) -> HashMap<String, AttributeValue> {
        let shard = AttributeValue::S(format!("{}#1#{}", self.queue, id.shard()));
        let entry = AttributeValue::S(id.to_string());
        HashMap::from([("shard".to_owned(), shard), ("entry".to_owned(), entry)])
    }

    /// Deletes one item of the queue, such as `settings`.
    pub(crate) async fn delete_part(&self, part: &str) {
        let delete = self
            .table
            .delete_item()
            .table_name(&self.tables.queues)
            .key("queue", AttributeValue::S(self.queue.to_string()))
            .key("part", AttributeValue::S(part.to_owned()));
        delete.send().await.expect("deleted");
    }

    /// Reads the whole settings item.
    pub(crate) async fn read_settings_item(&self) -> HashMap<String, AttributeValue> {
        self.read_part("settings").await
    }

    /// Reads a whole item of the queue.
    pub(crate) async fn read_part(&self, part: &str) -> HashMap<String, AttributeValue> {
        let read = self
            .table
            .get_item()
            .table_name(&self.tables.queues)
            .key("queue", AttributeValue::S(self.queue.to_string()))
            .key("part", AttributeValue::S(part.to_owned()))
            .consistent_read(true);
        read.send().await.expect("read").item.expect("the item")
    }

    /// The parts of the queue that the table has.
    pub(crate) async fn read_parts(&self) -> Vec<String> {
        let query = self
            .table
            .query()
            .table_name(&self.tables.queues)
            .consistent_read(true)
            .key_condition_expression("#queue = :queue")
            .expression_attribute_names("#queue", "queue")
            .expression_attribute_values(":queue", AttributeValue::S(self.queue.to_string()));
        let items = query.send().await.expect("read").items.expect("items");
        let parts = items
            .iter()
            .map(|item| item["part"].as_s().expect("a text").clone());
        parts.collect()
    }

    /// Adds an item of the queue with this part, which holds nothing.
    pub(crate) async fn put_part(&self, part: &str) {
        let key = [("queue", self.queue.as_str()), ("part", part)];
        let item = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
        self.put_item(item.into()).await;
    }

    /// Saves a whole item, as the JSON view of the console does.
    pub(crate) async fn put_item(&self, item: HashMap<String, AttributeValue>) {
        let put = self.table.put_item().table_name(&self.tables.queues);
        put.set_item(Some(item)).send().await.expect("written");
    }
}

/// Runs a command that must succeed, and returns its result.
pub(crate) async fn run_command(admin: &Admin, command: Value) -> Value {
    let mut answer = admin.handle(command.clone()).await;
    assert_eq!(answer["ok"], true, "{command}: {answer}");
    answer["result"].take()
}
