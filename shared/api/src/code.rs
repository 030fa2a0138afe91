//! The codes of problems, which clients may rely on, and their HTTP status.

use axum::http::StatusCode;
pub use vestibule_wire::Code;

/// Returns the HTTP status of an answer with this code.
pub(super) fn http_status(code: Code) -> StatusCode {
    StatusCode::from_u16(code.status()).expect("a test holds every declared status to the range 400 to 599")
}
