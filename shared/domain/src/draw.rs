//! The draw: the order of the visitors who came before the opening of a queue.
//!
//! The order of an entry is `HMAC-SHA256(seed, id)`, cut to the 49 bits of a place. The seed is secret until the queue
//! opens, so no visitor can choose an id by its order. Its SHA-256, the commitment, is public before, so the operator
//! cannot choose another seed once the visitors are known. `docs/adr/0036-opening-and-draw.md` has the reasons.

use std::fmt;

use hmac::Mac;
use sha2::{Digest, Sha256};

use crate::{
    id::{EntryId, Salt, new_hmac},
    lane::Lane,
    score::{ORDER_BITS, Visit, WaitScore},
};

const SEED_LABEL: &[u8] = b"vestibule draw seed";
/// The bits of a hash from which an order is cut.
const HASH_BITS: u32 = 64;

/// The secret of a draw. Each generation of a queue has its own: it follows from the salt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DrawSeed([u8; 32]);

impl DrawSeed {
    /// The seed of the queue with this salt. The salt does not follow from the seed.
    pub fn of_salt(salt: &Salt) -> Self {
        let mut mac = new_hmac(salt.as_bytes());
        mac.update(SEED_LABEL);
        Self(mac.finalize().into_bytes().into())
    }

    /// Parses the 64 hexadecimal digits that a queue publishes; `None` for any other text.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let is_hex = digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit);
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)).filter(|_| is_hex) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        is_hex.then_some(Self(bytes))
    }

    /// The seed in 64 hexadecimal digits, to be published after the opening.
    pub fn reveal(&self) -> String {
        to_hex(&self.0)
    }

    /// The commitment: the SHA-256 of the 32 bytes of the seed, in 64 hexadecimal digits.
    pub fn commitment(&self) -> String {
        to_hex(&Sha256::digest(self.0))
    }

    /// The order that the draw gives to an entry.
    pub fn draw(&self, id: EntryId) -> DrawnOrder {
        let mut mac = new_hmac(&self.0);
        mac.update(id.as_bytes());
        let hash = mac.finalize().into_bytes();
        let first = hash[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        DrawnOrder(first >> (HASH_BITS - ORDER_BITS))
    }
}

impl fmt::Debug for DrawSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DrawSeed(***)")
    }
}

/// The order of an entry among those that came before the opening: below 2^49.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DrawnOrder(u64);

impl DrawnOrder {
    /// The order as a number.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The place of this order, in the default lane, of an entry whose visit is `visit`.
    pub fn place(self, visit: Visit) -> WaitScore {
        let place = WaitScore::of_visit(self.0, visit).unwrap_or_else(|| visit.place());
        place.in_lane(Lane::DEFAULT)
    }
}

fn to_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u128) -> EntryId {
        // Version 8 of the UUID, as of every entry.
        let bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let bits = bits & !(0xF << 76) & !(0x3 << 62) | 8 << 76 | 2 << 62;
        uuid::Uuid::from_u128(bits)
            .to_string()
            .parse()
            .expect("an entry id")
    }

    #[test]
    fn a_draw_of_known_numbers_stays_as_it_is() {
        let seed = DrawSeed::from_hex(&"07".repeat(32)).expect("a seed");
        let id = "00112233-4455-8677-8899-aabbccddeeff"
            .parse()
            .expect("an entry id");
        // Computed with Python's hmac and hashlib.
        assert_eq!(seed.draw(id).number(), 55_804_986_909_314);
        assert_eq!(
            seed.commitment(),
            "4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0"
        );
        assert_eq!(DrawSeed::from_hex(&seed.reveal()), Some(seed));
        assert_eq!(DrawSeed::from_hex(&"0g".repeat(32)), None);
        assert_eq!(DrawSeed::from_hex("07"), None);
    }

    #[test]
    fn each_generation_has_a_seed_that_is_not_its_salt() {
        let (one, other) = (Salt::new([1; 32]), Salt::new([2; 32]));
        assert_ne!(DrawSeed::of_salt(&one), DrawSeed::of_salt(&other));
        assert_ne!(DrawSeed::of_salt(&one).reveal(), "01".repeat(32));
        assert_eq!(format!("{:?}", DrawSeed::of_salt(&one)), "DrawSeed(***)");
    }

    /// Chi-square over 100 classes of 10,000 draws, for each of ten fixed seeds. With 99 degrees of freedom, a fair draw
    /// exceeds 148.2 once in a thousand times.
    #[test]
    fn ten_thousand_draws_are_uniform() {
        const CLASSES: u8 = 100;
        for number in 0..10_u8 {
            let seed = DrawSeed::of_salt(&Salt::new([number; 32]));
            let mut counts = [0_u32; CLASSES as usize];
            for visitor in 0..10_000 {
                let order = seed.draw(entry(visitor)).number();
                let class = usize::try_from((order * u64::from(CLASSES)) >> ORDER_BITS).expect("a class");
                counts[class] += 1;
            }
            let distances = counts.map(|count| (f64::from(count) - 100.0).powi(2) / 100.0);
            let chi_square: f64 = distances.iter().sum();
            assert!(chi_square < 148.2, "seed {number}: {chi_square}");
        }
    }
}
