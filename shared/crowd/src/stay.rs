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
    /// When the session is made longer, and when it ends. `None` if that is not known, or it does not grow any more.
    session_ms: Option<(f64, f64)>,
}

impl StayProgress {
    pub(crate) fn new(now_ms: f64, session_ends_ms: Option<f64>) -> Self {
        Self {
            began_ms: now_ms,
            checked: 0,
            session_ms: session_ends_ms.map(|ends_ms| (extend_at_ms(now_ms, ends_ms), ends_ms)),
        }
    }

    /// The session was made longer. One that has its longest time already does not grow, and is left to end.
    pub(crate) fn extend(&mut self, now_ms: f64, ends_ms: Option<f64>) {
        let before_ms = self.session_ms.map(|(_, ends_ms)| ends_ms);
        let longer_ms = ends_ms.filter(|ends_ms| before_ms.is_none_or(|before_ms| *ends_ms > before_ms));
        self.session_ms = longer_ms.map(|ends_ms| (extend_at_ms(now_ms, ends_ms), ends_ms));
    }

    /// The session is as long as it gets.
    pub(crate) fn give_up_extending(&mut self) {
        self.session_ms = None;
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
        let is_too_short = |session_ends_ms: f64| stay.extends && session_ends_ms < ends_ms + EXTEND_AHEAD_MS;
        let extension = self.session_ms.filter(|(_, ends_ms)| is_too_short(*ends_ms));
        let extension = extension.map(|(at_ms, _)| Due {
            act: Act::Extend,
            at_ms,
        });
        let others = [check, extension].into_iter().flatten();
        others.fold(
            end,
            // A check that is due at the end of a stay comes before it.
            |first, other| if other.at_ms <= first.at_ms { other } else { first },
        )
    }
}

/// When a session that ends then is made longer: a while before its end, and not at once if it is short.
fn extend_at_ms(now_ms: f64, ends_ms: f64) -> f64 {
    ends_ms - EXTEND_AHEAD_MS.min((ends_ms - now_ms) / 2.0)
}
