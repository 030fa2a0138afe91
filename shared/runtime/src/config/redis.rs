//! The address of the line's Redis, and how to log in to it.

use std::fmt;

use vestibule_line::{Address, IamUser};

use vestibule_telemetry::variables::{
    ConfigError, VariableLookup, invalid_variable, read_process_variable, read_required,
};

const URL: &str = "VESTIBULE_REDIS_URL";
const IAM_CACHE: &str = "VESTIBULE_REDIS_IAM_CACHE";
const IAM_USER: &str = "VESTIBULE_REDIS_IAM_USER";

/// The address of the line's Redis, and how to log in to it.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// The URL: `redis://`, or `rediss://` for TLS. The suffix `+cluster` marks a cluster and
    /// allows several nodes. The parameter `?ca_file=` names a file of trusted certificate
    /// authorities. The URL may contain a password, so `Debug` prints `***`.
    pub url: String,
    /// The IAM user that logs in, or `None` if the URL holds the credentials.
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
    /// Reads `VESTIBULE_REDIS_URL` and, for `ElastiCache` with IAM authentication,
    /// `VESTIBULE_REDIS_IAM_CACHE` (the name of the serverless cache) and
    /// `VESTIBULE_REDIS_IAM_USER` (the user id, which equals the user name).
    ///
    /// # Errors
    /// [`ConfigError`] for the variable that is missing, invalid, or does not fit the others.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&read_process_variable)
    }

    pub(super) fn read(vars: VariableLookup<'_>) -> Result<Self, ConfigError> {
        let url = read_required(vars, URL)?;
        // Parsing also reads the file of certificate authorities. A function that cannot verify its
        // Redis must not start.
        Address::parse(&url).map_err(|error| invalid_variable(URL, error.to_string()))?;
        let iam = match (vars(IAM_CACHE), vars(IAM_USER)) {
            (None, None) => None,
            (Some(cache), Some(user)) => Some(IamUser { cache, user }),
            (Some(_), None) => {
                return Err(invalid_variable(
                    IAM_USER,
                    format!("is not set, but {IAM_CACHE} is; set both or neither"),
                ));
            }
            (None, Some(_)) => {
                return Err(invalid_variable(
                    IAM_CACHE,
                    format!("is not set, but {IAM_USER} is; set both or neither"),
                ));
            }
        };
        if iam.is_some() && !(url.starts_with("rediss://") || url.starts_with("rediss+cluster://")) {
            let reason = format!(
                "must begin with rediss:// or rediss+cluster:// if {IAM_CACHE} is set, because the login sends a token"
            );
            return Err(invalid_variable(URL, reason));
        }
        if iam.is_some() && url.contains('@') {
            return Err(invalid_variable(
                URL,
                format!("must not name a user if {IAM_USER} is set"),
            ));
        }
        Ok(Self { url, iam })
    }
}
