//! What happens while a visitor is let in.

use crate::{
    act::{Act, Due},
    temper::{Stay, StayEnd},
};

/// A session is made longer so many milliseconds before its end.
const EXTEND_AHEAD_MS: f64 = 3_000.0;

/// How far a stay has come. Times are Unix milliseconds.
#[derive(Debug)]
pub(crate) struct StayProgress {
    began_ms: f64,
    /// How often the protected service asked.
    pub(crate) checked: u32,
    /// When the session ends. `None` if that is not known, or it does not grow any more.
    session_ends_ms: Option<f64>,
}

impl StayProgress {
    pub(crate) fn new(now_ms: f64, session_ends_ms: Option<f64>) -> Self {
        Self {
            began_ms: now_ms,
            checked: 0,
            session_ends_ms,
        }
    }

    /// The session was made longer. One that has its longest time already does not grow, and is left to end.
    pub(crate) fn extend(&mut self, ends_ms: Option<f64>) {
        let before_ms = self.session_ends_ms;
        self.session_ends_ms =
            ends_ms.filter(|ends_ms| before_ms.is_none_or(|before_ms| *ends_ms > before_ms));
    }

    /// The session is as long as it gets.
    pub(crate) fn give_up_extending(&mut self) {
        self.session_ends_ms = None;
    }

    /// What comes next of the stay.
    pub(crate) fn next(&self, stay: &Stay) -> Due {
        let ends_ms = self.began_ms + stay.length_ms;
        let end = match stay.end {
            StayEnd::Completes => Due {
                act: Act::Complete,
                at_ms: ends_ms,
            },
            StayEnd::Leaves => Due {
                act: Act::Leave,
                at_ms: ends_ms,
            },
            StayEnd::Expires => Due {
                act: Act::Turn,
                at_ms: f64::INFINITY,
            },
        };
        let share = f64::from(self.checked + 1) / f64::from(stay.checks + 1);
        let check = (self.checked < stay.checks).then_some(Due {
            act: Act::Validate,
            at_ms: self.began_ms + stay.length_ms * share,
        });
        // A session that lasts longer than the stay needs no more time.
        let session_ends_ms = self
            .session_ends_ms
            .filter(|session_ends_ms| stay.extends && *session_ends_ms < ends_ms + EXTEND_AHEAD_MS);
        let extension = session_ends_ms.map(|session_ends_ms| Due {
            act: Act::Extend,
            at_ms: session_ends_ms - EXTEND_AHEAD_MS,
        });
        let others = [check, extension].into_iter().flatten();
        others.fold(
            end,
            // A check that is due at the end of a stay comes before it.
            |first, other| if other.at_ms <= first.at_ms { other } else { first },
        )
    }
}
