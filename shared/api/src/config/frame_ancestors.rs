//! Which sites may embed the pages in a frame.

use std::{fmt, ops::Deref, str::FromStr};

/// The sources of `frame-ancestors` (CSP level 3, section 6.4.2): origins, or `'self'`, or `'none'`.
#[derive(Clone, PartialEq, Eq)]
pub struct FrameAncestors(String);

/// A text that is no list of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 'none', 'self', or origins such as https://shop.example, separated by blanks")]
pub struct InvalidFrameAncestors;

impl Default for FrameAncestors {
    fn default() -> Self {
        Self("'none'".to_owned())
    }
}

impl Deref for FrameAncestors {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FrameAncestors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for FrameAncestors {
    type Err = InvalidFrameAncestors;

    /// Parses sources that are separated by blanks. An empty text is `'none'`. What would end the directive is refused.
    fn from_str(text: &str) -> Result<Self, InvalidFrameAncestors> {
        let sources: Vec<_> = text.split_ascii_whitespace().collect();
        let is_source = |source: &&str| {
            let is_keyword = ["'none'", "'self'"].contains(source);
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b":/.*-_[]".contains(&b);
            is_keyword || (source.bytes().all(is_plain) && source.starts_with("http"))
        };
        match sources.as_slice() {
            [] => Ok(Self::default()),
            sources if sources.iter().all(is_source) => Ok(Self(sources.join(" "))),
            _ => Err(InvalidFrameAncestors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_become_part_of_the_policy() {
        let parse = |text: &str| text.parse::<FrameAncestors>().map(|sources| sources.to_string());
        assert_eq!(parse(""), Ok("'none'".to_owned()));
        assert_eq!(
            parse(" 'self'  https://shop.example https://*.shop.example "),
            Ok("'self' https://shop.example https://*.shop.example".to_owned())
        );
        for invalid in [
            "'none'; script-src *",
            "shop.example",
            "'unsafe-inline'",
            "https://a,https://b",
            "*",
        ] {
            assert_eq!(parse(invalid), Err(InvalidFrameAncestors), "{invalid}");
        }
    }
}
