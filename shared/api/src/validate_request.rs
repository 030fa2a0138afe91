//! What a validate request asks, and the problems of the pass in it. They are the same with the line and
//! without it.

use vestibule_domain::{
    consumption::{UseId, UseIdError},
    score::Visit,
};

use super::{code::Code, problem::Problem, request::Fields};

/// The body of a validate request.
pub(super) struct ValidateRequest {
    pub(super) visitor: Option<String>,
    pub(super) pass: Option<String>,
    pub(super) consume: bool,
    /// Makes `consume` repeatable.
    pub(super) use_id: Option<UseId>,
    pub(super) visit: Option<Visit>,
}

impl TryFrom<Fields> for ValidateRequest {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let request = Self {
            visitor: fields.take_string("visitor")?,
            pass: fields.take_string("pass")?,
            consume: fields.take_bool("consume")?.unwrap_or(false),
            use_id: fields
                .take_string("use")?
                .map(|text| {
                    text.parse()
                        .map_err(|error: UseIdError| Problem::invalid_field("use", error.to_string()))
                })
                .transpose()?,
            visit: fields.take_visit()?,
        };
        fields.refuse_unknown()?;
        if request.visitor.is_none() && request.pass.is_none() {
            return Err(Problem::invalid_field(
                "visitor",
                "must be given unless the request has a pass",
            ));
        }
        if request.use_id.is_some() && !request.consume {
            return Err(Problem::invalid_field(
                "use",
                "must not be given without `consume: true`",
            ));
        }
        Ok(request)
    }
}

/// The problem of a pass from before the last reset.
pub(super) fn earlier_epoch_problem() -> Problem {
    Problem::new(Code::InvalidPass, "the pass belongs to an epoch that has ended")
}

/// The problem of a pass for another visit.
pub(super) fn other_visit_problem() -> Problem {
    Problem::new(Code::InvalidPass, "the pass belongs to another visit")
}
