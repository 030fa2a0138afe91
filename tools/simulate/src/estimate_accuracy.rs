//! The accuracy of the wait estimates: what visitors were told, against how long they waited.

use vestibule_domain::estimate::Estimate;

/// The most visitors whose estimates are kept. Of a larger crowd, every n-th visitor is sampled.
const SAMPLED_VISITORS_MAX: u32 = 50_000;
/// The shortest wait against which an error is measured, in seconds. A few seconds of error in a short wait do
/// not matter.
const ERROR_BASE_SECONDS_MIN: f64 = 10.0;
/// The upper bounds of the waits by which estimates are grouped, in seconds.
pub const WAIT_BOUNDS_SECONDS: [u64; 6] = [10, 60, 300, 900, 1_800, u64::MAX];

/// One answer to a waiting visitor.
#[derive(Debug, Clone, Copy)]
struct Answer {
    at_ms: u64,
    estimate: Option<Estimate>,
}

/// The accuracy of a group of estimates, as sums.
#[derive(Debug, Clone, Copy, Default)]
pub struct AccuracySums {
    /// Answers with an estimate.
    pub shown: u64,
    /// Answers without an estimate.
    pub unknown: u64,
    /// Estimates whose range contained the wait.
    pub inside: u64,
    /// Estimates whose turn came sooner than the range.
    pub sooner: u64,
    /// The sum of the relative errors of the middle of the range.
    pub errors: f64,
    /// The sum of the widths of the range, relative to its middle.
    pub widths: f64,
}

/// Collects the estimates of sampled visitors and compares them with the waits.
#[derive(Debug)]
pub struct EstimateAccuracy {
    sampling_step: u32,
    open_answers: Vec<Vec<Answer>>,
    /// The accuracy, grouped by the length of the wait.
    pub by_wait: [AccuracySums; WAIT_BOUNDS_SECONDS.len()],
}

impl EstimateAccuracy {
    /// An empty collection for this many visitors.
    pub fn new(visitors: u32) -> Self {
        let sampling_step = visitors.div_ceil(SAMPLED_VISITORS_MAX).max(1);
        Self {
            sampling_step,
            open_answers: vec![Vec::new(); visitors.div_ceil(sampling_step) as usize],
            by_wait: Default::default(),
        }
    }

    /// Whether the answers to this visitor are kept.
    pub fn is_sampled(&self, visitor: u32) -> bool {
        visitor.is_multiple_of(self.sampling_step)
    }

    /// Records an answer to a waiting visitor.
    pub fn record_answer(&mut self, visitor: u32, at_ms: u64, estimate: Option<Estimate>) {
        if self.is_sampled(visitor) {
            self.open_answers[(visitor / self.sampling_step) as usize].push(Answer { at_ms, estimate });
        }
    }

    /// Records that the turn of a visitor came, and judges the answers that the visitor was given.
    pub fn record_turn(&mut self, visitor: u32, at_ms: u64) {
        if !self.is_sampled(visitor) {
            return;
        }
        for answer in std::mem::take(&mut self.open_answers[(visitor / self.sampling_step) as usize]) {
            let wait_ms = at_ms - answer.at_ms;
            let group = WAIT_BOUNDS_SECONDS
                .iter()
                .position(|bound| wait_ms / 1_000 < *bound)
                .unwrap_or(WAIT_BOUNDS_SECONDS.len() - 1);
            self.by_wait[group].add_answer(answer.estimate, wait_ms);
        }
    }

    /// The accuracy over waits of any length.
    pub fn total(&self) -> AccuracySums {
        AccuracySums::total(&self.by_wait)
    }
}

impl AccuracySums {
    /// The sum over several groups.
    pub fn total<'a>(groups: impl IntoIterator<Item = &'a Self>) -> Self {
        groups.into_iter().fold(Self::default(), Self::plus)
    }

    #[allow(clippy::cast_precision_loss)]
    fn add_answer(&mut self, estimate: Option<Estimate>, wait_ms: u64) {
        let Some(Estimate { low, high }) = estimate else {
            self.unknown += 1;
            return;
        };
        self.shown += 1;
        self.inside += u64::from(low * 1_000 <= wait_ms && wait_ms <= high * 1_000);
        self.sooner += u64::from(wait_ms < low * 1_000);
        let (wait, middle) = (wait_ms as f64 / 1_000.0, (low + high) as f64 / 2.0);
        self.errors += (middle - wait).abs() / wait.max(ERROR_BASE_SECONDS_MIN);
        self.widths += (high - low) as f64 / middle;
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            shown: self.shown + other.shown,
            unknown: self.unknown + other.unknown,
            inside: self.inside + other.inside,
            sooner: self.sooner + other.sooner,
            errors: self.errors + other.errors,
            widths: self.widths + other.widths,
        }
    }

    /// The share of answers without an estimate.
    #[allow(clippy::cast_precision_loss)]
    pub fn unknown_share(&self) -> f64 {
        self.unknown as f64 / (self.shown + self.unknown).max(1) as f64
    }

    /// The share of estimates whose range contained the wait.
    #[allow(clippy::cast_precision_loss)]
    pub fn coverage(&self) -> f64 {
        self.inside as f64 / self.shown.max(1) as f64
    }

    /// The mean relative error of the middle of the range.
    #[allow(clippy::cast_precision_loss)]
    pub fn mean_error(&self) -> f64 {
        self.errors / self.shown.max(1) as f64
    }

    /// The mean width of the range, relative to its middle.
    #[allow(clippy::cast_precision_loss)]
    pub fn mean_width(&self) -> f64 {
        self.widths / self.shown.max(1) as f64
    }
}
