//! What the clients of AWS share: one look at the environment for region and credentials, and one HTTP client with its
//! connections and certificates.

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

/// The region of emulators, for whoever has none set.
const EMULATOR_REGION: &str = "us-east-1";

/// Region and credentials as every AWS client finds them. `endpoints` are the addresses of the services that will be
/// used: where emulators alone are meant, nobody looks for an account.
pub async fn load<'a>(endpoints: impl IntoIterator<Item = Option<&'a str>>) -> SdkConfig {
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

/// The configuration for one service: at its own address, or at an emulator's.
pub fn at(aws: &SdkConfig, endpoint: Option<&str>) -> SdkConfig {
    let Some(url) = endpoint else {
        return aws.clone();
    };
    let mut builder = aws.to_builder().endpoint_url(url);
    if is_emulator(endpoint) {
        let region = aws.region().cloned();
        builder = builder
            .credentials_provider(SharedCredentialsProvider::new(emulator_credentials()))
            .region(region.unwrap_or(Region::from_static(EMULATOR_REGION)));
    }
    builder.build()
}

/// An emulator speaks plain HTTP and takes any credentials: nobody needs an account to try things.
fn is_emulator(endpoint: Option<&str>) -> bool {
    endpoint.is_some_and(|url| url.starts_with("http://")) && env::var_os("AWS_ACCESS_KEY_ID").is_none()
}

fn emulator_credentials() -> Credentials {
    Credentials::new("local", "local", None, None, "emulator")
}

/// Why a call gave no answer: the service's own code where there is one, for whoever reads the log.
pub fn reason<E, R>(error: &SdkError<E, R>) -> String
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    match error.code() {
        Some(code) => format!("{code}: {}", error.message().unwrap_or("no message")),
        None => chain(error),
    }
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
