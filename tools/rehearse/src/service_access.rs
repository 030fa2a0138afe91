//! How the protected service proves itself to the API.

use std::time::{Duration, Instant};

use aws_config::SdkConfig;
use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider},
};
use http::{HeaderName, HeaderValue, Request};
use tokio::sync::Mutex;
use vestibule_aws::signing::{UnsignedRequest, signature_headers};

/// The name of API Gateway in signatures.
const SIGNING_NAME: &str = "execute-api";
/// How long credentials are used before the provider is asked again. Those of a role last for minutes at least.
const CREDENTIALS_AGE_MAX: Duration = Duration::from_mins(1);

/// Why a request could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the request of the protected service cannot be signed: {0}")]
pub(crate) struct SigningError(String);

/// What a request of the protected service carries.
pub(crate) enum ServiceAccess {
    /// Nothing: the runner asks for nothing.
    Open,
    /// An API key.
    Key(HeaderValue),
    /// A signature with AWS credentials.
    Iam(Box<Signer>),
    /// The rehearsal has no access. Its visitors leave instead of being completed.
    Absent,
}

/// Signs requests.
pub(crate) struct Signer {
    region: String,
    provider: SharedCredentialsProvider,
    cached: Mutex<Option<(Instant, Credentials)>>,
}

impl ServiceAccess {
    /// Whether the rehearsal can act as the protected service.
    pub(crate) fn is_available(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// Adds to a request what proves the protected service.
    pub(crate) async fn prove(&self, request: &mut Request<String>) -> Result<(), SigningError> {
        match self {
            Self::Open | Self::Absent => Ok(()),
            Self::Key(key) => {
                request
                    .headers_mut()
                    .insert(HeaderName::from_static("x-api-key"), key.clone());
                Ok(())
            }
            Self::Iam(signer) => signer.sign(request).await,
        }
    }
}

impl Signer {
    /// A signer with the credentials and the region of the configuration.
    pub(crate) fn new(aws: &SdkConfig) -> Result<Self, SigningError> {
        let missing = |what: &str| SigningError(format!("there is no AWS {what}"));
        Ok(Self {
            region: aws.region().ok_or_else(|| missing("region"))?.to_string(),
            provider: aws.credentials_provider().ok_or_else(|| missing("credentials"))?,
            cached: Mutex::new(None),
        })
    }

    async fn credentials(&self) -> Result<Credentials, SigningError> {
        let mut cached = self.cached.lock().await;
        if let Some((at, credentials)) = &*cached
            && at.elapsed() < CREDENTIALS_AGE_MAX
        {
            return Ok(credentials.clone());
        }
        let provided = self.provider.provide_credentials().await;
        let credentials = provided.map_err(|error| SigningError(vestibule_aws::error_chain(&error)))?;
        *cached = Some((Instant::now(), credentials.clone()));
        Ok(credentials)
    }

    async fn sign(&self, request: &mut Request<String>) -> Result<(), SigningError> {
        let credentials = self.credentials().await?;
        let headers = request.headers().iter();
        let headers = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let unsigned = UnsignedRequest {
            method: request.method().as_str(),
            url: &request.uri().to_string(),
            headers: headers.collect(),
            body: request.body().as_bytes(),
        };
        let signature = signature_headers(&credentials, &self.region, SIGNING_NAME, &unsigned);
        for (name, value) in signature.map_err(SigningError)? {
            let no_header = |error: &dyn std::error::Error| SigningError(vestibule_aws::error_chain(error));
            let name: HeaderName = name.parse().map_err(|error| no_header(&error))?;
            let value = value.parse().map_err(|error| no_header(&error))?;
            request.headers_mut().insert(name, value);
        }
        Ok(())
    }
}
