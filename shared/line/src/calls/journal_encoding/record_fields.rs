//! The fields that both forms of a record have.

use vestibule_domain::{
    change::{EndReason, Version},
    fact::Fact,
};

use crate::{
    LineError,
    calls::{end::read_end_fact, fields::Fields},
};

pub(super) fn decode_version(fields: &Fields) -> Result<Version, LineError> {
    Ok(Version {
        epoch: fields.number("epoch")?,
        v: fields.number("v")?,
    })
}

pub(super) fn to_field_list<const N: usize>(fields: [(&str, String); N]) -> Vec<String> {
    fields
        .into_iter()
        .flat_map(|(field, value)| [field.to_owned(), value])
        .collect()
}

pub(super) fn parse_end_fact(
    visit: u64,
    step: u64,
    step_ms: u64,
    name: &str,
) -> Result<(Fact, EndReason), LineError> {
    read_end_fact(visit, step, step_ms, name).ok_or_else(|| protocol_error("a valid end"))
}

pub(super) fn protocol_error(wanted: &str) -> LineError {
    LineError::Protocol(format!("a journal record lacks {wanted}"))
}
