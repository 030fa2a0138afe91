//! Signed calls of services whose SDK this program does without: each SDK costs a long build for one or two calls.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_http_client::{
    Connector,
    tls::{Provider, rustls_provider::CryptoMode},
};
use aws_smithy_runtime_api::client::{http::HttpConnector, orchestrator::HttpRequest};
use aws_smithy_types::{body::SdkBody, byte_stream::ByteStream};
use serde_json::Value;
use vestibule_aws::signing::{UnsignedRequest, signature_headers};

/// The longest time that a service takes for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The longest part of an answer that a reason quotes, in characters.
const QUOTED_MAX: usize = 300;

/// A service of AWS.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    /// Its name in signatures, and in its address.
    pub name: &'static str,
}

/// The protocol of a call, with what it sends.
#[derive(Debug)]
pub(super) enum Call<'a> {
    /// A request of a REST protocol, with a path and a query.
    Get(&'a str),
    /// The same with a JSON body.
    Post(&'a str, &'a Value),
    /// An operation of a JSON protocol, with its prefix.
    Json(&'a str, &'a Value),
    /// An operation of the query protocol: a form.
    Form(&'a str),
}

/// Sends calls with the credentials of the operator.
pub(super) struct AwsCaller {
    connector: Connector,
    credentials: Option<SharedCredentialsProvider>,
    region: String,
    endpoint: Option<String>,
}

impl AwsCaller {
    /// Sends to the services of a region, or to the emulator at `endpoint`.
    pub(super) fn new(aws: &SdkConfig, endpoint: Option<&str>, region: &str) -> Self {
        let tls = Provider::Rustls(CryptoMode::AwsLc);
        Self {
            connector: Connector::builder().tls_provider(tls).build(),
            credentials: vestibule_aws::config_for_endpoint(aws, endpoint).credentials_provider(),
            region: region.to_owned(),
            endpoint: endpoint.map(|url| url.trim_end_matches('/').to_owned()),
        }
    }

    /// Sends a call and returns the answer as JSON.
    ///
    /// # Errors
    /// The reason why there is none, for a person.
    pub(super) async fn send_for_json(&self, service: Service, call: &Call<'_>) -> Result<Value, String> {
        let text = self.send(service, call).await?;
        serde_json::from_str(&text)
            .map_err(|error| format!("{} did not answer with JSON: {error}", service.name))
    }

    /// Sends a call and returns the text of the answer.
    ///
    /// # Errors
    /// As [`send_for_json`](Self::send_for_json).
    pub(super) async fn send(&self, service: Service, call: &Call<'_>) -> Result<String, String> {
        let request = self.build_request(service, call).await?;
        let answer = tokio::time::timeout(TIMEOUT, self.connector.call(request)).await;
        let answer = answer.map_err(|_| format!("{} did not answer in time", service.name))?;
        let answer = answer.map_err(|error| vestibule_aws::error_chain(&error))?;
        let status = answer.status();
        let body = ByteStream::new(answer.into_body()).collect().await;
        let body = body
            .map_err(|error| vestibule_aws::error_chain(&error))?
            .into_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        if status.is_success() {
            Ok(text)
        } else {
            let quoted: String = text.chars().take(QUOTED_MAX).collect();
            Err(format!("{} answered {}: {quoted}", service.name, status.as_u16()))
        }
    }

    async fn build_request(&self, service: Service, call: &Call<'_>) -> Result<HttpRequest, String> {
        let (method, path, body) = match call {
            Call::Get(path) => ("GET", *path, String::new()),
            Call::Post(path, body) => ("POST", *path, body.to_string()),
            Call::Json(_, body) => ("POST", "/", body.to_string()),
            Call::Form(form) => ("POST", "/", (*form).to_owned()),
        };
        let url = format!("{}{path}", self.address(service));
        let mut headers = vec![("accept", "application/json".to_owned())];
        match call {
            Call::Get(_) => {}
            Call::Post(..) => headers.push(("content-type", "application/json".to_owned())),
            Call::Json(operation, _) => {
                headers.push(("content-type", "application/x-amz-json-1.1".to_owned()));
                headers.push(("x-amz-target", (*operation).to_owned()));
            }
            Call::Form(_) => headers.push(("content-type", "application/x-www-form-urlencoded".to_owned())),
        }
        let signature = self.sign(service, method, &url, &headers, &body).await?;
        let to_reason = |error: &dyn std::error::Error| vestibule_aws::error_chain(error);
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method(method).map_err(|error| to_reason(&error))?;
        request.set_uri(url).map_err(|error| to_reason(&error))?;
        for (name, value) in headers {
            request.headers_mut().insert(name, value);
        }
        for (name, value) in signature {
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }

    /// The headers that sign a request.
    async fn sign(
        &self,
        service: Service,
        method: &str,
        url: &str,
        headers: &[(&str, String)],
        body: &str,
    ) -> Result<Vec<(String, String)>, String> {
        let provider = self.credentials.as_ref().ok_or("there are no credentials")?;
        let credentials = provider.provide_credentials().await;
        let credentials = credentials.map_err(|error| vestibule_aws::error_chain(&error))?;
        let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let request = UnsignedRequest {
            method,
            url,
            headers: headers.collect(),
            body: body.as_bytes(),
        };
        signature_headers(&credentials, &self.region, service.name, &request)
    }

    fn address(&self, service: Service) -> String {
        if let Some(endpoint) = &self.endpoint {
            return endpoint.clone();
        }
        let suffix = if self.region.starts_with("cn-") { ".cn" } else { "" };
        format!("https://{}.{}.amazonaws.com{suffix}", service.name, self.region)
    }
}
