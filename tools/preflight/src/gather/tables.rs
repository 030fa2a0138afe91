//! Asks DynamoDB for the tables.

use serde_json::{Value, json};
use vestibule_aws::stack::DeployedStack;

use super::aws_call::{AwsCaller, Call, Service};
use crate::account_answers::{Answer, TableAnswer};

const DYNAMODB: Service = Service { name: "dynamodb" };

/// Asks for the table that an output of the stack names.
pub(super) async fn ask_table(
    caller: &AwsCaller,
    stack: &DeployedStack,
    output: &str,
) -> Answer<TableAnswer> {
    let missing = || format!("the stack has no output {output}");
    let name = stack.outputs.get(output).ok_or_else(missing)?;
    let body = json!({ "TableName": name });
    let ask = async |operation: &str| {
        let operation = format!("DynamoDB_20120810.{operation}");
        caller
            .send_for_json(DYNAMODB, &Call::Json(&operation, &body))
            .await
    };
    let (table, time_to_live, backups) = tokio::join!(
        ask("DescribeTable"),
        ask("DescribeTimeToLive"),
        ask("DescribeContinuousBackups")
    );
    let (table, time_to_live, backups) = (table?, time_to_live?, backups?);
    let table = &table["Table"];
    let recovery = &backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"];
    let warm = |name: &str| {
        let units = table["WarmThroughput"][name].as_u64();
        units.and_then(|units| u32::try_from(units).ok())
    };
    Ok(TableAnswer {
        items: table["ItemCount"].as_u64().unwrap_or(0),
        has_recovery: is_enabled(&recovery["PointInTimeRecoveryStatus"]),
        has_time_to_live: is_enabled(&time_to_live["TimeToLiveDescription"]["TimeToLiveStatus"]),
        has_deletion_protection: table["DeletionProtectionEnabled"] == true,
        warm_reads: warm("ReadUnitsPerSecond"),
        warm_writes: warm("WriteUnitsPerSecond"),
    })
}

fn is_enabled(status: &Value) -> bool {
    matches!(status.as_str(), Some("ENABLED" | "ENABLING"))
}
