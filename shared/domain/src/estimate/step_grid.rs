//! The points of the curve: where they are, and how many there are.

/// The curve has at most this many points. After the last point, the line goes on at the rate of
/// the last session length.
pub(super) const POINTS_MAX: usize = 800;
/// The time between two points of the curve, in seconds: in the near part, and in the far part.
const NEAR_STEP_SECONDS: f64 = 1.0;
const FAR_STEP_SECONDS: f64 = 5.0;
/// A session spans at least this many steps.
const STEPS_PER_SESSION_MIN: f64 = 10.0;
/// The length of the near part, in seconds.
pub(super) const NEAR_SECONDS: f64 = 60.0;

/// The distances between the points of the curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepGrid {
    near: f64,
    near_count: usize,
    far: f64,
}

impl StepGrid {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn for_session(session: f64) -> Self {
        let near = NEAR_STEP_SECONDS.min(session / STEPS_PER_SESSION_MIN);
        Self {
            near,
            near_count: (NEAR_SECONDS / near).round() as usize,
            far: FAR_STEP_SECONDS.min(session / STEPS_PER_SESSION_MIN),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    pub(super) fn seconds_at(&self, point: usize) -> f64 {
        let far = point.saturating_sub(self.near_count);
        (point - far) as f64 * self.near + far as f64 * self.far
    }

    /// The step that contains a moment, given in seconds from now.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn step_at(&self, seconds: f64) -> usize {
        let near_seconds = self.seconds_at(self.near_count);
        if seconds < near_seconds {
            (seconds / self.near) as usize
        } else {
            self.near_count + ((seconds - near_seconds) / self.far) as usize
        }
    }
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn seconds_from_ms(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn count_as_f64(number: u64) -> f64 {
    number as f64
}
