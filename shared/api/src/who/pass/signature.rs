//! The one spelling of a signature.
//!
//! If `(r, s)` is a signature by ECDSA, so is `(r, n - s)`, where `n` is the order of the curve: anyone can compute one
//! from the other. A pass would then have two texts, and a list of used passes would know only one of them. So
//! passes are signed with the lower `s`, and a pass with the higher one is refused.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// The bytes of each of the two numbers (RFC 7518, section 3.4).
const NUMBER_BYTES: usize = 32;
/// The order `n` of the curve P-256 (SEC 2, section 2.4.2).
const CURVE_ORDER: [u8; NUMBER_BYTES] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// Whether the signature of a token has the lower `s`.
pub(super) fn is_low(token: &str) -> bool {
    let signature = token
        .rsplit_once('.')
        .and_then(|(_, signature)| URL_SAFE_NO_PAD.decode(signature).ok());
    signature
        .and_then(|signature| <[u8; 2 * NUMBER_BYTES]>::try_from(signature).ok())
        .is_some_and(|signature| is_lower_half(&signature[NUMBER_BYTES..]))
}

/// The token with the lower `s` in its signature. A text that is no signed token comes back as it is.
pub(super) fn with_low_signature(token: String) -> String {
    if is_low(&token) {
        return token;
    }
    let Some((message, signature)) = token.rsplit_once('.') else {
        return token;
    };
    match URL_SAFE_NO_PAD.decode(signature) {
        Ok(mut signature) if signature.len() == 2 * NUMBER_BYTES => {
            subtract_from_order(&mut signature[NUMBER_BYTES..]);
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
        _ => token,
    }
}

/// Whether a number is at most half the order. The order is odd, so no number equals its opposite.
fn is_lower_half(number: &[u8]) -> bool {
    let mut opposite = number.to_vec();
    subtract_from_order(&mut opposite);
    number < &*opposite
}

/// Replaces a number below the order by the order less the number.
fn subtract_from_order(number: &mut [u8]) {
    let mut borrow = false;
    for (byte, order) in number.iter_mut().zip(CURVE_ORDER).rev() {
        let (difference, first) = order.overflowing_sub(*byte);
        let (difference, second) = difference.overflowing_sub(u8::from(borrow));
        (*byte, borrow) = (difference, first || second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the order, rounded down.
    const HALF: [u8; NUMBER_BYTES] = [
        0x7f, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xde,
        0x73, 0x7d, 0x56, 0xd3, 0x8b, 0xcf, 0x42, 0x79, 0xdc, 0xe5, 0x61, 0x7e, 0x31, 0x92, 0xa8,
    ];

    fn token(s: [u8; NUMBER_BYTES]) -> String {
        format!("a.b.{}", URL_SAFE_NO_PAD.encode([[7; NUMBER_BYTES], s].concat()))
    }

    #[test]
    fn of_two_opposite_numbers_the_lower_one_counts() {
        let mut above = HALF;
        above[31] += 1;
        assert!(is_low(&token(HALF)) && !is_low(&token(above)));
        assert_eq!(with_low_signature(token(above)), token(HALF));
        assert_eq!(with_low_signature(token(HALF)), token(HALF));
        let mut one = [0; NUMBER_BYTES];
        one[31] = 1;
        assert!(is_low(&token(one)));
    }

    #[test]
    fn a_text_without_two_numbers_has_no_low_signature() {
        for text in ["", "a.b.", "a.b.AAAA", "a.b.!"] {
            assert!(!is_low(text), "{text}");
            assert_eq!(with_low_signature(text.to_owned()), text);
        }
    }
}
