//! Asks AWS and the stack. No call changes anything.

mod api_gateway;
mod aws_call;
mod claims;
mod functions;
mod query_answer;
mod start_events;
mod start_log;
mod starts;
mod tables;
mod zones;

use aws_config::SdkConfig;
use vestibule_aws::stack::DeployedStack;
use vestibule_sizing::ceilings::FUNCTION_NAMES;

use crate::account_answers::{AccountAnswers, StackAnswer};

use self::aws_call::AwsCaller;

/// Asks everything at the same time. A question that fails leaves a reason and no error.
pub(crate) async fn gather_answers(
    aws: &SdkConfig,
    endpoint: Option<&str>,
    stack: &DeployedStack,
    visitor_token: Option<&str>,
) -> AccountAnswers {
    let lambda = functions::connect(aws, endpoint);
    let caller = AwsCaller::new(aws, endpoint, &stack.region);
    let answer = StackAnswer {
        status: stack.status.clone(),
        parameters: stack.parameters.clone(),
    };
    let table = |output: &'static str| tables::ask_table(&caller, stack, output);
    let (executions, functions, requests, api) = tokio::join!(
        functions::ask_quota(&lambda),
        functions::ask_functions(&lambda, stack, &FUNCTION_NAMES),
        api_gateway::ask_quota(&caller),
        stack.resource_id("Api"),
    );
    let configurations = functions
        .iter()
        .filter_map(|function| function.configuration.as_ref().ok());
    let subnets = configurations.flat_map(|configuration| configuration.subnets.iter().cloned());
    let subnets = subnets.collect();
    let (routes, zones, claims, starts, queues_table, entries_table) = tokio::join!(
        api_gateway::ask_routes(&caller, &api),
        zones::ask_zones(&caller, subnets),
        claims::ask_claims(&caller, &answer, &api, visitor_token),
        starts::call_functions(&lambda, stack),
        table("QueuesTable"),
        table("EntriesTable"),
    );
    AccountAnswers {
        stack: answer,
        executions,
        functions,
        requests,
        routes,
        zones,
        claims,
        starts,
        queues_table,
        entries_table,
    }
}
