//! Logging in to `ElastiCache` as an IAM user: the password is a token, which is the query of a signed address
//! ([Amazon's description](https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html)).
//!
//! A token opens connections for 15 minutes, so each connection is opened with one of its own, made at that moment. What
//! it opened is closed by the server after 12 hours unless it logs in again, and no timer of ours would be right about
//! that: a Lambda is frozen between its calls, and its timers with it. So whoever takes a connection to send on says so
//! ([`IamLogin::note_use`]), and each connection compares the wall clock with the time of its last login. One that
//! slept through the 12 hours is found closed, and is opened anew.

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
use vestibule_domain::uri::encoded;

/// How long a token opens connections: the most that the service allows.
const TOKEN: Duration = Duration::from_mins(15);
/// When a connection logs in again, which the service wants within 12 hours.
const RENEW: Duration = Duration::from_hours(6);
/// When it tries again after it could not.
const RETRY: Duration = Duration::from_mins(1);
/// How often use is noted at most.
const NOTE: Duration = Duration::from_secs(30);

/// Gives the time of the wall, by which AWS checks signatures.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Who logs in where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamUser {
    /// The name of the serverless cache.
    pub cache: String,
    /// The user, whose id and name are the same.
    pub user: String,
}

/// Makes a token whenever a connection needs one.
#[derive(Clone)]
pub struct IamLogin {
    user: IamUser,
    region: String,
    credentials: SharedCredentialsProvider,
    clock: WallClock,
    used_at: watch::Sender<SystemTime>,
}

impl fmt::Debug for IamLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IamLogin").field(&self.user).finish()
    }
}

impl IamLogin {
    /// Signs with the credentials and for the region of a configuration; `None` where it lacks one of them.
    pub fn new(user: IamUser, aws: &SdkConfig) -> Option<Self> {
        Some(Self {
            user,
            region: aws.region()?.to_string(),
            credentials: aws.credentials_provider()?,
            clock: Arc::new(SystemTime::now),
            used_at: watch::Sender::new(SystemTime::UNIX_EPOCH),
        })
    }

    /// The same by another clock.
    #[cfg(any(test, feature = "given-time"))]
    #[must_use]
    pub fn with_clock(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// A connection is about to be used: those whose login is old do it again, beside the call.
    pub(super) fn note_use(&self) {
        let now = (self.clock)();
        self.used_at.send_if_modified(|used_at| {
            let is_news = now >= *used_at + NOTE;
            if is_news {
                *used_at = now;
            }
            is_news
        });
    }

    /// A token made now: `cache/?Action=connect&…`, a signed address without its scheme.
    ///
    /// # Errors
    /// Where there are no credentials, or the names make no address.
    pub async fn token(&self) -> RedisResult<String> {
        let credentials = self.credentials.provide_credentials().await.map_err(|error| {
            // The outer text is a phrase; the cause says which source failed.
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            refused(
                "no AWS credentials to log in with",
                cause.unwrap_or_else(|| error.to_string()),
            )
        })?;
        let identity = credentials.into();
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(TOKEN);
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("elasticache")
            .time((self.clock)())
            .settings(settings)
            .build()
            .map_err(|error| refused("the login cannot be signed", error.to_string()))?;
        let mut token = format!(
            "{}/?Action=connect&User={}&ResourceType=ServerlessCache",
            // The service knows the cache by this form of its name alone.
            self.user.cache.to_lowercase(),
            encoded(&self.user.user),
        );
        let unsigned = format!("http://{token}");
        let signature = SignableRequest::new("GET", &unsigned, std::iter::empty(), SignableBody::empty())
            .and_then(|request| sign(request, &params.into()))
            .map_err(|error| refused("the login cannot be signed", error.to_string()))?;
        for (name, value) in signature.output().params() {
            token.extend(["&", name, "=", &encoded(value)]);
        }
        Ok(token)
    }

    async fn login(&self) -> RedisResult<BasicAuth> {
        Ok(BasicAuth::new(self.user.user.clone(), self.token().await?))
    }
}

fn refused(what: &'static str, why: String) -> RedisError {
    RedisError::from((ErrorKind::AuthenticationFailed, what, why))
}

impl StreamingCredentialsProvider for IamLogin {
    /// Each connection has two of these from the client: it is opened with the first login of the one, and follows the
    /// other for as long as it lives. So it logs in twice at its start, which costs one message and harms nothing.
    fn subscribe(&self) -> Pin<Box<dyn Stream<Item = RedisResult<BasicAuth>> + Send + 'static>> {
        let start = (self.clone(), self.used_at.subscribe(), None);
        Box::pin(stream::unfold(start, |(login, mut used_at, due)| async move {
            if let Some(due) = due {
                used_at.wait_for(|used_at| *used_at >= due).await.ok()?;
            }
            let made = login.login().await;
            let due = (login.clock)() + if made.is_ok() { RENEW } else { RETRY };
            Some((made, (login, used_at, Some(due))))
        }))
    }
}

#[cfg(test)]
mod tests;
