//! Logs in to `ElastiCache` as an IAM user. The password is a token: a presigned URL without its scheme
//! ([Amazon's description](https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html)).
//!
//! A token can open connections for 15 minutes. So each connection gets a token of its own, made when it
//! opens.
//!
//! The server closes a connection 12 hours after its last login, so each connection logs in again
//! before that. A timer cannot trigger this, because a Lambda is frozen between its calls, and its
//! timers with it. Instead, each call reports that it uses a connection ([`IamLogin::note_use`]),
//! and each connection then compares the wall clock with the time of its last login. A connection
//! that was frozen for 12 hours is closed, and the client opens a new one.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use aws_config::SdkConfig;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign},
    sign::v4,
};
use futures_util::{Stream, stream};
use redis::{BasicAuth, ErrorKind, RedisError, RedisResult, StreamingCredentialsProvider};
use tokio::sync::watch;
use vestibule_domain::uri::percent_encode;

/// The lifetime of a token: the longest that the service allows.
const TOKEN_LIFETIME: Duration = Duration::from_mins(15);
/// The age of a login after which the connection logs in again. The service requires a login within
/// 12 hours.
const RENEW_AFTER: Duration = Duration::from_hours(6);
/// The wait after a failed login.
const RETRY_AFTER: Duration = Duration::from_mins(1);
/// The shortest time between two recorded uses.
const USE_RECORD_INTERVAL: Duration = Duration::from_secs(30);

/// Returns the wall-clock time, by which AWS verifies signatures.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The IAM user of a serverless cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamUser {
    /// The name of the serverless cache.
    pub cache: String,
    /// The id of the user, which `ElastiCache` requires to equal its name.
    pub user: String,
}

/// Makes a fresh token for each login of a connection.
#[derive(Clone)]
pub struct IamLogin {
    user: IamUser,
    region: String,
    credentials: SharedCredentialsProvider,
    clock: WallClock,
    last_used_at: watch::Sender<SystemTime>,
}

impl fmt::Debug for IamLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IamLogin").field(&self.user).finish()
    }
}

impl IamLogin {
    /// Makes a login that signs with the credentials and the region of `aws`. `None` if `aws` lacks
    /// one of them.
    pub fn new(user: IamUser, aws: &SdkConfig) -> Option<Self> {
        Some(Self {
            user,
            region: aws.region()?.to_string(),
            credentials: aws.credentials_provider()?,
            clock: Arc::new(SystemTime::now),
            last_used_at: watch::Sender::new(SystemTime::UNIX_EPOCH),
        })
    }

    /// Replaces the wall clock. For tests.
    #[cfg(any(test, feature = "test-hooks"))]
    #[must_use]
    pub fn with_clock(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// Records that a call is about to use a connection. Connections with an old login then log in
    /// again, while the call goes on.
    pub(super) fn record_use(&self) {
        let now = (self.clock)();
        self.last_used_at.send_if_modified(|used_at| {
            let is_news = now >= *used_at + USE_RECORD_INTERVAL;
            if is_news {
                *used_at = now;
            }
            is_news
        });
    }

    /// Makes a token: the signed URL `cache/?Action=connect&…` without its scheme.
    ///
    /// # Errors
    /// An authentication error if there are no AWS credentials, or if the names of cache and user
    /// cannot be signed as a URL.
    pub async fn create_token(&self) -> RedisResult<String> {
        let credentials = self.credentials.provide_credentials().await.map_err(|error| {
            // The outer error is a general phrase. Its cause names the credential source that failed.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            auth_error(
                "cannot load AWS credentials for the IAM login",
                cause.unwrap_or_else(|| error.to_string()),
            )
        })?;
        let identity = credentials.into();
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(TOKEN_LIFETIME);
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("elasticache")
            .time((self.clock)())
            .settings(settings)
            .build()
            .map_err(|error| auth_error("cannot sign the IAM login", error.to_string()))?;
        let mut token = format!(
            "{}/?Action=connect&User={}&ResourceType=ServerlessCache",
            // The service accepts the name of the cache only in lower case.
            self.user.cache.to_lowercase(),
            percent_encode(&self.user.user),
        );
        let unsigned = format!("http://{token}");
        let signature = SignableRequest::new("GET", &unsigned, std::iter::empty(), SignableBody::empty())
            .and_then(|request| sign(request, &params.into()))
            .map_err(|error| auth_error("cannot sign the IAM login", error.to_string()))?;
        for (name, value) in signature.output().params() {
            token.extend(["&", name, "=", &percent_encode(value)]);
        }
        Ok(token)
    }

    async fn create_credentials(&self) -> RedisResult<BasicAuth> {
        Ok(BasicAuth::new(self.user.user.clone(), self.create_token().await?))
    }
}

fn auth_error(what: &'static str, why: String) -> RedisError {
    RedisError::from((ErrorKind::AuthenticationFailed, what, why))
}

impl StreamingCredentialsProvider for IamLogin {
    /// The Redis client subscribes twice for each connection. It opens the connection with the
    /// first login of one stream, and follows the other stream for the life of the connection. So a
    /// connection logs in twice when it opens, which costs one message and does no harm.
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send + 'static>> {
        let start = (self.clone(), self.last_used_at.subscribe(), None);
        Box::pin(stream::unfold(start, |(login, mut used_at, due)| async move {
            if let Some(due) = due {
                used_at.wait_for(|used_at| *used_at >= due).await.ok()?;
            }
            let made = login.create_credentials().await;
            let due = (login.clock)() + if made.is_ok() { RENEW_AFTER } else { RETRY_AFTER };
            Some((made, (login, used_at, Some(due))))
        }))
    }
}

#[cfg(test)]
mod tests;
