//! The configuration that all AWS clients share. The process reads region and credentials from the
//! environment once, and uses one HTTP client with one set of connections and certificates.

pub mod admin_client;
pub mod signing;
#[cfg(feature = "stack")]
pub mod stack;

use std::{env, error::Error};

use aws_config::{
    BehaviorVersion, Region, SdkConfig, environment::EnvironmentVariableRegionProvider,
    meta::region::RegionProviderChain,
};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};
use aws_types::origin::Origin;

/// The variable with the address of an emulator for all services, as the AWS CLI reads it.
const ENDPOINT: &str = "AWS_ENDPOINT_URL";
/// The region for emulators if the environment sets none.
const EMULATOR_REGION: &str = "us-east-1";

/// Loads the region and the credentials for every AWS client. `endpoints` are the addresses of the
/// services that the process will use; `None` stands for the service's own address.
///
/// If all of them are emulators, the SDK gets fixed credentials and does not search for an AWS account.
pub async fn load_config<'a>(endpoints: impl IntoIterator<Item = Option<&'a str>>) -> SdkConfig {
    let tls = Provider::Rustls(CryptoMode::AwsLc);
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(Builder::new().tls_provider(tls).build_https());
    if endpoints.into_iter().all(is_emulator) {
        let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new());
        loader = loader
            .credentials_provider(emulator_credentials())
            .region(region.or_else(EMULATOR_REGION));
    }
    loader.load().await
}

/// The address of an emulator that the environment names for all services. An empty variable counts as not set.
pub fn endpoint_from_env() -> Option<String> {
    env::var(ENDPOINT).ok().filter(|url| !url.is_empty())
}

/// The configuration for one service, at the service's own address or at `endpoint`.
pub fn config_for_endpoint(aws: &SdkConfig, endpoint: Option<&str>) -> SdkConfig {
    let Some(url) = endpoint else {
        return aws.clone();
    };
    let mut builder = aws.to_builder().endpoint_url(url);
    // Otherwise the clients prefer AWS_ENDPOINT_URL and a profile's address to the one that was asked for.
    builder.insert_origin("endpoint_url", Origin::service_config());
    if is_emulator(endpoint) {
        let region = aws.region().cloned();
        builder = builder
            .credentials_provider(SharedCredentialsProvider::new(emulator_credentials()))
            .region(region.unwrap_or(Region::from_static(EMULATOR_REGION)));
    }
    builder.build()
}

/// Whether the endpoint is an emulator that needs no AWS account. An emulator uses plain HTTP and
/// accepts any credentials. Credentials in the environment take precedence over the fixed ones.
fn is_emulator(endpoint: Option<&str>) -> bool {
    endpoint.is_some_and(|url| url.starts_with("http://")) && env::var_os("AWS_ACCESS_KEY_ID").is_none()
}

fn emulator_credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "emulator")
}

/// The reason why an AWS call failed, for the log. It starts with the service's own error code if
/// the service answered; otherwise it is the chain of causes.
pub fn failure_reason<E, R>(error: &SdkError<E, R>) -> String
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    match error.code() {
        Some(code) => format!("{code}: {}", error.message().unwrap_or("no message")),
        None => error_chain(error),
    }
}

/// An error with its chain of causes.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use aws_config::SdkConfig;
    use aws_types::origin::Origin;

    use super::config_for_endpoint;

    #[test]
    fn an_address_counts_more_than_that_of_the_environment() {
        let mut aws = SdkConfig::builder().endpoint_url("http://127.0.0.1:1");
        aws.insert_origin("endpoint_url", Origin::shared_environment_variable());
        let config = config_for_endpoint(&aws.build(), Some("http://127.0.0.1:2"));
        assert_eq!(config.endpoint_url(), Some("http://127.0.0.1:2"));
        assert!(config.get_origin("endpoint_url").is_client_config(), "{config:?}");
    }
}
