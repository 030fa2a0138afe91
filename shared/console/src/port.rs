//! The port of a program that serves a console.

/// Parses a port. An empty text, such as an environment variable that is not set, stands for the default one.
///
/// # Errors
/// A sentence that says what a port is.
pub fn parse_port(text: &str, default_port: u16) -> Result<u16, String> {
    if text.is_empty() {
        return Ok(default_port);
    }
    text.parse().map_err(|_| {
        format!(
            "a port (PORT or --port) is a whole number from 0 to {}; 0 selects a free one",
            u16::MAX
        )
    })
}
