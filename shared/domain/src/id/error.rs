//! Why a text is no id, and the lengths that the messages name.

/// The longest queue id, in characters.
pub const QUEUE_ID_MAX: usize = 128;
/// The longest visitor id, in bytes.
pub const VISITOR_ID_MAX: usize = 256;

/// A text that is not a valid id. The message says what is valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`.
    #[error(
        "a queue id must be 1 to {QUEUE_ID_MAX} characters of A-Z a-z 0-9 . _ : - \
         and must start with a letter or a digit"
    )]
    Queue,
    /// The text is not a UUID of version 8 in its 36-character form.
    #[error("an entry token must be a UUID of version 8, such as 0f8fad5b-d9cb-869f-a165-70867728950e")]
    Token,
    /// The text is not 22 characters of base64url that decode to such a UUID.
    #[error("a member of the line must be an entry token encoded as 22 characters of base64url")]
    Member,
    /// The visitor id is empty, too long, or contains control characters.
    #[error("a visitor id must be 1 to {VISITOR_ID_MAX} bytes without control characters")]
    Visitor,
    /// The visitor id begins or ends with a blank. An HTTP header loses such blanks on the way, but
    /// a claim or a body keeps them, so the same person would become two visitors.
    #[error("a visitor id must not begin or end with a blank")]
    VisitorBlank,
    /// The id of an anonymous visitor is not a random UUID.
    #[error("the visitor id of an anonymous visitor must be a UUID of version 4")]
    Anonymous,
    /// The text is not the beginning of queue ids, followed by a `*`.
    #[error(
        "a pattern must be the beginning of queue ids, followed by a *, such as TICKET:*; the pattern * names every queue"
    )]
    QueuePattern,
    /// The text is not 11 characters of base64url.
    #[error("a source must be 11 characters of A-Z a-z 0-9 _ -, as the command sources shows it")]
    Source,
}
