//! How the protected service proves itself to the API.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use aws_config::SdkConfig;
use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider},
};
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Request};
use tokio::sync::Mutex;
use vestibule_aws::signing::{UnsignedRequest, signature_headers};
use vestibule_crowd::{
    act::Act,
    http::{HeaderProof, Proof},
    ledger::ActFigures,
};

/// The name of API Gateway in signatures.
const SIGNING_NAME: &str = "execute-api";
/// How long credentials are used before the provider is asked again. Those of a role last for minutes at least.
const CREDENTIALS_AGE_MAX: Duration = Duration::from_mins(1);

/// The code of a request without an answer, and of one that could not be signed.
const NO_ANSWER: &str = "no-answer";
const NOT_SIGNED: &str = "not-signed";

/// Why a request could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("the request of the protected service cannot be signed: {0}")]
pub(crate) struct SigningError(String);

/// What a request of the protected service carries.
#[derive(Debug)]
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

/// Proves the protected service, and counts the requests that it could not sign.
#[derive(Debug, Clone)]
pub(crate) struct ServiceProof {
    access: Arc<ServiceAccess>,
    unsigned: Arc<UnsignedRequests>,
}

/// Requests that could not be signed, and so were not sent.
#[derive(Debug, Default)]
pub(crate) struct UnsignedRequests {
    validates: AtomicU64,
    completes: AtomicU64,
    /// Why the first one could not.
    reason: OnceLock<String>,
}

/// Signs requests.
#[derive(Debug)]
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
}

impl ServiceProof {
    /// Proves the service by this access.
    pub(crate) fn new(access: ServiceAccess) -> Self {
        Self {
            access: Arc::new(access),
            unsigned: Arc::default(),
        }
    }

    /// The requests that could not be signed so far.
    pub(crate) fn unsigned(&self) -> &UnsignedRequests {
        &self.unsigned
    }
}

impl Proof for ServiceProof {
    fn prove<'a>(&'a self, request: &'a mut Request<String>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            match &*self.access {
                ServiceAccess::Open | ServiceAccess::Absent => Ok(()),
                ServiceAccess::Key(key) => {
                    let name = HeaderName::from_static("x-api-key");
                    HeaderProof(name, key.clone()).prove(request).await
                }
                ServiceAccess::Iam(signer) => {
                    let signed = signer.sign(request).await.map_err(|error| error.to_string());
                    signed.inspect_err(|reason| self.unsigned.record(request.uri().path(), reason))
                }
            }
        })
    }
}

impl UnsignedRequests {
    fn record(&self, path: &str, reason: &str) {
        let count = if path.ends_with("/validate") {
            &self.validates
        } else {
            &self.completes
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.reason.get_or_init(|| reason.to_owned());
    }

    /// Why the first request could not be signed. `None` if all were.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// Names these requests in the figures. A crowd knows only that they had no answer.
    pub(crate) fn name_failures(&self, figures: &mut [ActFigures]) {
        for figures in figures {
            let unsigned = match figures.act {
                Act::Validate => self.validates.load(Ordering::Relaxed),
                Act::Complete => self.completes.load(Ordering::Relaxed),
                _ => 0,
            };
            if unsigned > 0 {
                let unanswered = figures.failures.remove(NO_ANSWER).unwrap_or_default();
                let others = unanswered.saturating_sub(unsigned);
                figures.failures.insert(NOT_SIGNED.to_owned(), unsigned);
                if others > 0 {
                    figures.failures.insert(NO_ANSWER.to_owned(), others);
                }
            }
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

#[cfg(test)]
mod tests {
    use vestibule_crowd::ledger::Ledger;

    use super::*;

    #[test]
    fn requests_that_could_not_be_signed_are_named() {
        let (ledger, unsigned) = (Ledger::default(), UnsignedRequests::default());
        for (act, path) in [
            (Act::Validate, "/queues/a/entries/t/validate"),
            (Act::Validate, "/queues/a/entries/t/validate"),
            (Act::Complete, "/queues/a/entries/t/complete"),
        ] {
            ledger.record(act, Duration::ZERO, Some(NO_ANSWER));
            unsigned.record(path, "there are no credentials");
        }
        ledger.record(Act::Validate, Duration::ZERO, Some(NO_ANSWER));
        ledger.record(Act::Poll, Duration::ZERO, Some(NO_ANSWER));
        let mut figures = ledger.figures();
        unsigned.name_failures(&mut figures);
        let failures: Vec<_> = figures.iter().map(|figures| figures.failures.clone()).collect();
        let named = |counts: &[(&str, u64)]| {
            let counts = counts.iter().map(|(code, count)| ((*code).to_owned(), *count));
            counts.collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(
            failures,
            [
                named(&[(NO_ANSWER, 1)]),
                named(&[(NO_ANSWER, 1), (NOT_SIGNED, 2)]),
                named(&[(NOT_SIGNED, 1)])
            ]
        );
        assert_eq!(unsigned.reason(), Some("there are no credentials"));
    }
}
