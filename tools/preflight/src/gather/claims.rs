//! Asks which claims the tokens of visitors have.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    api_gateway::API_GATEWAY,
    aws_call::{AwsCaller, Call, Service},
};
use crate::account_answers::{Answer, ClaimsAnswer, StackAnswer};

const COGNITO: Service = Service { name: "cognito-idp" };
/// Claims that every token of Cognito has beside the attributes of the user.
const CLAIMS_OF_COGNITO: [&str; 4] = ["sub", "cognito:username", "iss", "token_use"];

/// Asks for the claims: API Gateway tests the token if there is one, and else the pool says its attributes.
pub(super) async fn ask_claims(
    caller: &AwsCaller,
    stack: &StackAnswer,
    api: &Answer<String>,
    token: Option<&str>,
) -> ClaimsAnswer {
    match (stack.text("VisitorAuth"), token) {
        ("cognito" | "lambda", Some(token)) => ClaimsAnswer::OfToken(test_token(caller, api, token).await),
        ("cognito", None) => ClaimsAnswer::OfPool(ask_pool(caller, stack.text("CognitoUserPoolArn")).await),
        ("lambda", None) => ClaimsAnswer::NoToken,
        _ => ClaimsAnswer::NoAuthorizer,
    }
}

/// Lets API Gateway ask the authorizer of visitors for a token.
async fn test_token(caller: &AwsCaller, api: &Answer<String>, token: &str) -> Answer<BTreeSet<String>> {
    let api = api.as_ref().map_err(Clone::clone)?;
    let path = format!("/restapis/{api}/authorizers");
    let authorizers = caller.send_for_json(API_GATEWAY, &Call::Get(&path)).await?;
    let items = [
        &authorizers["item"],
        &authorizers["items"],
        &authorizers["_embedded"]["item"],
    ];
    let mut items = items.into_iter().filter_map(Value::as_array).flatten();
    let id = items.find_map(|authorizer| authorizer["id"].as_str());
    let id = id.ok_or("the API has no authorizer")?;
    let body = json!({ "headers": { "Authorization": format!("Bearer {token}") } });
    let answer = caller
        .send_for_json(API_GATEWAY, &Call::Post(&format!("{path}/{id}"), &body))
        .await?;
    let status = answer["clientStatus"].as_u64().unwrap_or(0);
    if status != 0 && status != 200 {
        return Err(format!("the authorizer refused the token with {status}"));
    }
    let claims = answer["claims"].as_object();
    let claims = claims.ok_or("API Gateway tells no claims of the token")?;
    Ok(claims.keys().cloned().collect())
}

/// Asks for the attributes of the users of a pool.
async fn ask_pool(caller: &AwsCaller, arn: &str) -> Answer<BTreeSet<String>> {
    // The ARN ends with userpool/ID.
    let pool = arn.rsplit('/').next().unwrap_or_default();
    let operation = "AWSCognitoIdentityProviderService.DescribeUserPool";
    let answer = caller
        .send_for_json(COGNITO, &Call::Json(operation, &json!({ "UserPoolId": pool })))
        .await?;
    let attributes = answer["UserPool"]["SchemaAttributes"].as_array();
    let attributes = attributes.ok_or("Cognito tells no attributes of the pool")?;
    let names = attributes
        .iter()
        .filter_map(|attribute| attribute["Name"].as_str());
    Ok(names.chain(CLAIMS_OF_COGNITO).map(str::to_owned).collect())
}
