//! Signing keys as PEM: random ones for a process on a developer's machine and for tests, and those that
//! a deployment derives from a random text.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The bytes before the 32 bytes of a P-256 private key in PKCS#8 without the public key (RFC 5958,
/// section 2, and RFC 5915, section 3).
const PKCS8_PREFIX: [u8; 35] = [
    0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
    0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04,
    0x20,
];
/// The characters of a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;
/// The HMAC label of the signing keys. It separates them from any other key that may be derived from
/// the same text.
const SIGNING_LABEL: &str = "vestibule ES256 signing key";
/// The number of the key that is derived.
const KEY_NUMBER: u32 = 1;

/// Builds a random signing key as PEM. `random` is a secure source of 32 random bytes.
pub fn new_key_pem(mut random: impl FnMut() -> [u8; 32]) -> String {
    loop {
        if let Some(pem) = private_key_pem(random()) {
            return pem;
        }
    }
}

/// Derives the signing key from a random text: the private key is HMAC-SHA256 of the label, the
/// number of the key and the number of the attempt, with the text as the key. See
/// `docs/adr/0014-template-secrets-and-build.md`.
pub fn derive_key_pem(text: &str) -> String {
    let mut attempt = 0_u32;
    new_key_pem(|| {
        attempt += 1;
        derive_number(text, attempt)
    })
}

fn derive_number(text: &str, attempt: u32) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(text.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(format!("{SIGNING_LABEL} {KEY_NUMBER}.{attempt}").as_bytes());
    mac.finalize().into_bytes().into()
}

/// Returns `None` if the number is 0 or not below the order of the curve, which one of 2^32 is not.
fn private_key_pem(number: [u8; 32]) -> Option<String> {
    let base64 = STANDARD.encode([&PKCS8_PREFIX[..], &number[..]].concat());
    let (first, second) = base64.split_at(PEM_LINE);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{first}\n{second}\n-----END PRIVATE KEY-----\n");
    super::is_signing_key(&pem).then_some(pem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_the_curve_is_no_key() {
        // The order of P-256 (SEC 2, section 2.4.2).
        let order = [
            0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6,
            0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
        ];
        for number in [[0; 32], order, [0xff; 32]] {
            assert_eq!(private_key_pem(number), None);
        }
        let mut greatest = order;
        greatest[31] -= 1;
        assert!(private_key_pem(greatest).is_some());
        let mut numbers = [[0xff; 32], [7; 32]].into_iter();
        let pem = new_key_pem(|| numbers.next().expect("two numbers"));
        assert_eq!(Some(pem), private_key_pem([7; 32]), "the next number is taken");
    }
}
