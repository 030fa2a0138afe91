//! The source of an entry: a keyed hash of the network from which its visitor entered.

use std::{fmt, net::IpAddr, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::Mac;

use super::{IdError, IdKey};

/// The bytes of a source. Two of a million networks have the same one with a probability of 1 in 37 million.
const SOURCE_BYTES: usize = 8;
/// The bytes of an IPv6 address that name a network of 64 bits, which one household or one server has.
const IPV6_NETWORK_BYTES: usize = 8;

/// Where a visitor entered from: a keyed hash of an IPv4 address or of an IPv6 network of 64 bits. It tells whether two
/// entries of one queue came from the same network, and never which one. It is another one in every queue and after
/// every reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source([u8; SOURCE_BYTES]);

impl IdKey {
    /// The source of a visitor who enters from this address.
    pub fn source(&self, address: IpAddr) -> Source {
        let mut mac = self.0.clone();
        // No input for an entry id begins with this word.
        mac.update(b"source:");
        match address.to_canonical() {
            IpAddr::V4(address) => mac.update(&address.octets()),
            IpAddr::V6(address) => mac.update(&address.octets()[..IPV6_NETWORK_BYTES]),
        }
        let mut bytes = [0; SOURCE_BYTES];
        bytes.copy_from_slice(&mac.finalize().into_bytes()[..SOURCE_BYTES]);
        Source(bytes)
    }
}

/// Encodes the source as 11 characters of base64url.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl FromStr for Source {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| IdError::Source)?;
        bytes.try_into().map(Self).map_err(|_| IdError::Source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{RootKey, Salt};

    fn key(queue: &str, salt: u8) -> IdKey {
        let root = RootKey::new(vec![7; 32]).expect("32 bytes are enough");
        let queue = queue.parse().expect("a queue id");
        IdKey::derive_for_queue(&root, &queue, &Salt::new([salt; 32])).expect("the key of the salt")
    }

    fn source(address: &str) -> Source {
        key("TIMEDEAL:1", 1).source(address.parse().expect("an address"))
    }

    #[test]
    fn addresses_of_one_network_have_one_source() {
        assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
        assert_eq!(source("2001:db8:0:1::1"), source("2001:db8:0:1:ffff::2"));
        let others = ["192.0.2.2", "2001:db8:0:2::1", "c000:0201::"];
        for other in others {
            assert_ne!(source("192.0.2.1"), source(other), "{other}");
            assert_ne!(source("2001:db8:0:1::1"), source(other), "{other}");
        }
    }

    #[test]
    fn sources_of_two_queues_or_generations_cannot_be_linked() {
        let address = "192.0.2.1".parse().expect("an address");
        let sources = [
            key("TIMEDEAL:1", 1).source(address),
            key("TIMEDEAL:2", 1).source(address),
            key("TIMEDEAL:1", 2).source(address),
        ];
        assert_ne!(sources[0], sources[1]);
        assert_ne!(sources[0], sources[2]);
    }

    #[test]
    fn source_round_trips_as_eleven_characters() {
        let source = source("192.0.2.1");
        let text = source.to_string();
        assert_eq!(text.len(), 11);
        assert_eq!(text.parse(), Ok(source));
        for wrong in ["", "192.0.2.1", &text[1..], &format!("{text}A")] {
            assert_eq!(wrong.parse::<Source>(), Err(IdError::Source), "{wrong}");
        }
    }
}
