//! The function `admin`: takes the orders of operators, by hand or from the command line.

use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use vestibule::{
    admin::Admin,
    backup::dynamodb::DynamoDb,
    config::{EdgeConfig, RedisConfig, dynamodb_from_env, root_key_from_env},
    line::redis::RedisLine,
    telemetry,
};

#[tokio::main]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let admin = Admin {
        line: Arc::new(RedisLine::connect(&RedisConfig::from_env()?.url).await?),
        backup: Arc::new(DynamoDb::connect(dynamodb_from_env()?).await),
        root_key: root_key_from_env()?,
        policy: (&EdgeConfig::from_env()?).into(),
    };
    run(service_fn(|order: LambdaEvent<Value>| {
        let admin = admin.clone();
        async move { Ok::<Value, Error>(admin.answer(order.payload).await) }
    }))
    .await
}
