//! Where the line is, and how to log in there.

use std::fmt;

use vestibule_line_redis::{Address, IamUser};

use super::{ConfigError, Lookup, environment, required, wrong};

const URL: &str = "VESTIBULE_REDIS_URL";
const IAM_CACHE: &str = "VESTIBULE_REDIS_IAM_CACHE";
const IAM_USER: &str = "VESTIBULE_REDIS_IAM_USER";

/// Where the line is.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// `redis://` or `rediss://` (TLS), or either with `+cluster` and then of several nodes; `?ca_file=` names the
    /// authorities that it trusts. May hold a password, so `Debug` prints `***`.
    pub url: String,
    /// Who logs in by IAM; with what the address says where `None`.
    pub iam: Option<IamUser>,
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("url", &"***")
            .field("iam", &self.iam)
            .finish()
    }
}

impl RedisConfig {
    /// Reads `VESTIBULE_REDIS_URL`; and, for `ElastiCache` with IAM authentication, `VESTIBULE_REDIS_IAM_CACHE` (the name
    /// of the serverless cache) and `VESTIBULE_REDIS_IAM_USER` (the user's id, which is its name).
    ///
    /// # Errors
    /// The one that is missing, or does not go with the others.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&environment)
    }

    pub(super) fn read(vars: Lookup<'_>) -> Result<Self, ConfigError> {
        let url = required(vars, URL)?;
        // Where it names a file, that is looked at, too: a function that cannot trust its Redis shall not start.
        Address::parse(&url).map_err(|error| wrong(URL, error.to_string()))?;
        let iam = match (vars(IAM_CACHE), vars(IAM_USER)) {
            (None, None) => None,
            (Some(cache), Some(user)) => Some(IamUser { cache, user }),
            (Some(_), None) => return Err(wrong(IAM_USER, format!("is not set, and {IAM_CACHE} is"))),
            (None, Some(_)) => return Err(wrong(IAM_CACHE, format!("is not set, and {IAM_USER} is"))),
        };
        if iam.is_some() && !(url.starts_with("rediss://") || url.starts_with("rediss+cluster://")) {
            let reason = format!(
                "must be rediss:// or rediss+cluster:// where {IAM_CACHE} is set: a token is a password"
            );
            return Err(wrong(URL, reason));
        }
        if iam.is_some() && url.contains('@') {
            return Err(wrong(URL, format!("must not name a user where {IAM_USER} does")));
        }
        Ok(Self { url, iam })
    }
}
