//! The secret by which a distribution in front of the API proves that a request went through it. It tells the address of
//! the client, and whether a visitor may enter where visitors come by the distribution only. A process that cannot read it
//! serves every request.

mod live;

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub use self::live::{LiveOriginKey, OriginKeyRead, OriginKeyState};

/// The fewest characters of an origin key.
pub const ORIGIN_KEY_CHARACTERS_MIN: usize = 16;

const MESSAGE: &[u8] = b"vestibule origin";

/// The secret that the distribution adds to each request in the header `X-Vestibule-Origin`. No client knows it, so a
/// request with it has the address that the distribution saw.
#[derive(Clone, PartialEq, Eq)]
pub struct OriginKey {
    present: [u8; 32],
    /// The secret before the last change, which the locations of the distribution may still send.
    former: Option<[u8; 32]>,
}

impl OriginKey {
    /// Takes the secret. Blanks around it do not count.
    ///
    /// # Errors
    /// The number of characters if there are fewer than [`ORIGIN_KEY_CHARACTERS_MIN`].
    pub fn new(secret: &str) -> Result<Self, usize> {
        let secret = secret.trim();
        match secret.chars().count() {
            short if short < ORIGIN_KEY_CHARACTERS_MIN => Err(short),
            _ => Ok(Self {
                present: hash(secret),
                former: None,
            }),
        }
    }

    /// Also accepts the secret before the last change.
    #[must_use]
    pub fn with_former(self, secret: &str) -> Self {
        Self {
            former: Some(hash(secret.trim())),
            ..self
        }
    }

    /// Whether both have the same present secret.
    pub(crate) fn has_present_of(&self, other: &Self) -> bool {
        self.present == other.present
    }

    /// Whether a request presents this secret, or the one before it. The comparison takes the same time for every other
    /// text of the same length.
    pub(crate) fn is(&self, presented: &[u8]) -> bool {
        let is = |known: &[u8; 32]| sign(presented).verify_slice(known).is_ok();
        is(&self.present) || self.former.as_ref().is_some_and(is)
    }
}

impl fmt::Debug for OriginKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OriginKey(***)")
    }
}

fn hash(secret: &str) -> [u8; 32] {
    sign(secret.as_bytes()).finalize().into_bytes().into()
}

fn sign(secret: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(secret)
        .expect("HMAC accepts a key of any length (RFC 2104)")
        .chain_update(MESSAGE)
}
