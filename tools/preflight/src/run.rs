//! The life of the process: it finds the stack, asks, decides and prints.

use serde_json::json;
use vestibule_aws::admin_client::{AdminFunction, InvokeError};
use vestibule_aws::stack::{DeployedStack, StackError};
use vestibule_domain::{
    preflight::{Finding, Outcome},
    right::Right,
};

use crate::{
    cli::Cli,
    decide::decide_findings,
    gather::gather_answers,
    print::{print_findings, print_json},
};

/// Asks and prints. Returns whether there is no fault.
pub(crate) async fn run(cli: &Cli) -> Result<bool, StackError> {
    let endpoint = vestibule_aws::endpoint_from_env();
    let aws = vestibule_aws::load_config([endpoint.as_deref()]).await;
    let stack = DeployedStack::read(&aws, endpoint.as_deref(), &cli.stack).await?;
    // Who may look may check, and so may those who may invoke only the function itself.
    let names = [stack.admin_function_for(Right::Look), &stack.admin_function];
    let admin = names.map(|name| AdminFunction::new(&aws, name.to_owned(), endpoint.as_deref()));
    let token = cli.visitor_token.as_deref().filter(|token| !token.is_empty());
    let (inside, answers) = tokio::join!(
        ask_inside(&admin),
        gather_answers(&aws, endpoint.as_deref(), &stack, token)
    );
    let mut findings = inside?;
    findings.extend(decide_findings(&answers, |cache, has_cdn| {
        cli.crowd(cache, has_cdn)
    }));
    if cli.json {
        print_json(&stack, &findings);
    } else {
        print_findings(&stack, &findings);
    }
    Ok(findings.iter().all(|finding| finding.outcome != Outcome::Fault))
}

/// Lets the admin function ask Redis, the tables and the store of the signing keys, as only a function of the stack can.
async fn ask_inside(admin: &[AdminFunction; 2]) -> Result<Vec<Finding>, StackError> {
    const CHECK: &str = "admin-function";
    let fault = |found: String| {
        let remedy = "read the log group of the admin function: it starts only if its variables are complete and valid";
        vec![Finding::fault(CHECK, found, remedy)]
    };
    let command = json!({ "op": "preflight" });
    let [by_alias, itself] = admin;
    let answer = match by_alias.invoke(&command).await {
        Err(error) if error.is_forbidden() => itself.invoke(&command).await,
        answer => answer,
    };
    match answer {
        Err(error) if error.is_forbidden() => Err(StackError::InvokeForbidden(error.to_string())),
        Err(
            error @ (InvokeError::NotInvoked { .. }
            | InvokeError::Failed { .. }
            | InvokeError::NotJson { .. }),
        ) => Ok(fault(error.to_string())),
        Ok(mut answer) => {
            let findings = answer["result"]["findings"].take();
            match serde_json::from_value::<Vec<Finding>>(findings) {
                Ok(findings) => Ok(findings),
                Err(_) => Ok(vec![Finding::fault(
                    CHECK,
                    format!(
                        "the function does not know the command preflight: {}",
                        answer["problem"]["detail"]
                    ),
                    "deploy this version of the stack",
                )]),
            }
        }
    }
}
