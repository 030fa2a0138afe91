//! Whom a pass claims to be for. A caller that knows neither the queue nor the entry, as the authorizer,
//! reads them here and then verifies the pass for them.

use jsonwebtoken::dangerous::insecure_decode_claims;
use serde::Deserialize;
use vestibule_domain::id::{EntryId, QueueId};

use super::PassError;

/// The queue and the entry that a pass names. Nothing is proven by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedSubject {
    /// The queue.
    pub queue: QueueId,
    /// The entry.
    pub entry: EntryId,
}

#[derive(Deserialize)]
struct NamedClaims {
    aud: String,
    sub: String,
}

/// Reads the queue and the entry that a pass names, without verifying the pass.
///
/// # Errors
/// [`PassError::Malformed`] if the text is not a JWT that names a queue and an entry.
pub fn read_unverified_subject(pass: &str) -> Result<UnverifiedSubject, PassError> {
    let claims: NamedClaims = insecure_decode_claims(pass).map_err(|_| PassError::Malformed)?;
    Ok(UnverifiedSubject {
        queue: claims.aud.parse().map_err(|_| PassError::Malformed)?,
        entry: claims.sub.parse().map_err(|_| PassError::Malformed)?,
    })
}
