//! Percent-encoding of text for use in a URL (RFC 3986).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to encode: all except the unreserved characters of RFC 3986, section 2.3. Every other
/// character may have a special meaning in a URL.
const ENCODED_CHARACTERS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes the text as one segment of a path, or as one value of a query.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED_CHARACTERS).to_string()
}
