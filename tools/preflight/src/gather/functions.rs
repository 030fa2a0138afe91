//! Asks Lambda for the quota of the account, and for the functions behind the API.

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_sdk_lambda::{Client, config, types::AccountLimit};
use vestibule_aws::stack::DeployedStack;

use crate::account_answers::{Answer, ExecutionQuota, FunctionAnswer, FunctionConfiguration};

/// The alias that API Gateway invokes.
pub(super) const ALIAS: &str = "live";

/// Makes a client of Lambda, or of the emulator at `endpoint`.
pub(super) fn connect(aws: &SdkConfig, endpoint: Option<&str>) -> Client {
    let aws = vestibule_aws::config_for_endpoint(aws, endpoint);
    Client::from_conf(config::Builder::from(&aws).build())
}

/// Asks how many functions may run at once.
pub(super) async fn ask_quota(lambda: &Client) -> Answer<ExecutionQuota> {
    let settings = lambda.get_account_settings().send().await;
    let settings = settings.map_err(|error| vestibule_aws::failure_reason(&error))?;
    let limit = settings.account_limit().map(AccountLimit::concurrent_executions);
    let limit = limit.and_then(|limit| u32::try_from(limit).ok());
    limit
        .map(|limit| ExecutionQuota { limit })
        .ok_or_else(|| "Lambda tells no limit of the account".to_owned())
}

/// Asks for the functions, one after the other: Lambda allows few such calls per second.
pub(super) async fn ask_functions(
    lambda: &Client,
    stack: &DeployedStack,
    names: &[&str],
) -> Vec<FunctionAnswer> {
    let mut answers = Vec::new();
    for name in names {
        let function = stack.outputs.get(&format!("{name}Function"));
        answers.push(
            ask_function(
                lambda,
                function.ok_or_else(|| format!("the stack has no output {name}Function")),
            )
            .await,
        );
    }
    answers
}

async fn ask_function(lambda: &Client, function: Answer<&String>) -> FunctionAnswer {
    match function {
        Ok(function) => FunctionAnswer {
            reserved: ask_reserved(lambda, function).await,
            configuration: ask_configuration(lambda, function).await,
        },
        Err(reason) => FunctionAnswer {
            reserved: Err(reason.clone()),
            configuration: Err(reason),
        },
    }
}

async fn ask_reserved(lambda: &Client, function: &str) -> Answer<Option<u32>> {
    let answer = lambda
        .get_function_concurrency()
        .function_name(function)
        .send()
        .await;
    let answer = answer.map_err(|error| vestibule_aws::failure_reason(&error))?;
    let reserved = answer.reserved_concurrent_executions();
    Ok(reserved.and_then(|reserved| u32::try_from(reserved).ok()))
}

/// Asks for the configuration of the version that serves requests. With provisioned concurrency it is a published one.
async fn ask_configuration(lambda: &Client, function: &str) -> Answer<FunctionConfiguration> {
    let request = lambda.get_function_configuration().function_name(function);
    let answer = request.qualifier(ALIAS).send().await;
    let answer = answer.map_err(|error| vestibule_aws::failure_reason(&error))?;
    let environment = answer
        .environment()
        .and_then(|environment| environment.variables());
    let environment: BTreeMap<_, _> = environment
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let subnets = answer.vpc_config().map(|vpc| vpc.subnet_ids().to_vec());
    Ok(FunctionConfiguration {
        environment,
        subnets: subnets.unwrap_or_default(),
    })
}
