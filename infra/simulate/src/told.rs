//! What people were told, against what came of it.

use vestibule_domain::estimate::Estimate;

/// The visitors whose answers are kept: every so many-th of a large crowd, all of their answers.
const KEPT_VISITORS: u32 = 50_000;
/// What is too far off by a few seconds matters little: an error counts against so many at least.
const ERROR_SECONDS_MIN: f64 = 10.0;
/// By which wait errors are told apart: up to so many seconds.
pub const WAITS_SECONDS: [u64; 6] = [10, 60, 300, 900, 1_800, u64::MAX];

#[derive(Debug, Clone, Copy)]
struct Answer {
    at_ms: u64,
    estimate: Option<Estimate>,
}

/// How well the answers held whose waits were of one length.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// Answers with a range.
    pub shown: u64,
    /// Answers without one.
    pub unknown: u64,
    /// Of those with one, which held the truth.
    pub inside: u64,
    /// Whose turn came sooner than that.
    pub sooner: u64,
    /// The sum of the relative errors of the middle of the range.
    pub errors: f64,
    /// The sum of the widths relative to the middle.
    pub widths: f64,
}

/// All that is kept.
#[derive(Debug)]
pub struct Told {
    every: u32,
    open: Vec<Vec<Answer>>,
    /// By the length of the wait.
    pub held: [Held; WAITS_SECONDS.len()],
}

impl Told {
    /// For so many visitors.
    pub fn new(visitors: u32) -> Self {
        let every = visitors.div_ceil(KEPT_VISITORS).max(1);
        Self {
            every,
            open: vec![Vec::new(); visitors.div_ceil(every) as usize],
            held: Default::default(),
        }
    }

    /// A visitor in line was answered.
    pub fn answered(&mut self, visitor: u32, at_ms: u64, estimate: Option<Estimate>) {
        if visitor.is_multiple_of(self.every) {
            self.open[(visitor / self.every) as usize].push(Answer { at_ms, estimate });
        }
    }

    /// Whose answers are kept.
    pub fn keeps(&self, visitor: u32) -> bool {
        visitor.is_multiple_of(self.every)
    }

    /// A visitor's turn came.
    pub fn came_true(&mut self, visitor: u32, at_ms: u64) {
        if !visitor.is_multiple_of(self.every) {
            return;
        }
        for answer in std::mem::take(&mut self.open[(visitor / self.every) as usize]) {
            let wait_ms = at_ms - answer.at_ms;
            let length = WAITS_SECONDS
                .iter()
                .position(|most| wait_ms / 1_000 < *most)
                .unwrap_or(WAITS_SECONDS.len() - 1);
            self.held[length].add(answer.estimate, wait_ms);
        }
    }

    /// Of all waits together.
    pub fn all(&self) -> Held {
        together(&self.held)
    }
}

/// All of them.
pub fn together<'a>(held: impl IntoIterator<Item = &'a Held>) -> Held {
    held.into_iter().fold(Held::default(), Held::and)
}

impl Held {
    #[allow(clippy::cast_precision_loss)]
    fn add(&mut self, estimate: Option<Estimate>, wait_ms: u64) {
        let Some(Estimate { low, high }) = estimate else {
            self.unknown += 1;
            return;
        };
        self.shown += 1;
        self.inside += u64::from(low * 1_000 <= wait_ms && wait_ms <= high * 1_000);
        self.sooner += u64::from(wait_ms < low * 1_000);
        let (wait, middle) = (wait_ms as f64 / 1_000.0, (low + high) as f64 / 2.0);
        self.errors += (middle - wait).abs() / wait.max(ERROR_SECONDS_MIN);
        self.widths += (high - low) as f64 / middle;
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            shown: self.shown + other.shown,
            unknown: self.unknown + other.unknown,
            inside: self.inside + other.inside,
            sooner: self.sooner + other.sooner,
            errors: self.errors + other.errors,
            widths: self.widths + other.widths,
        }
    }

    /// Which part of the answers had no range.
    #[allow(clippy::cast_precision_loss)]
    pub fn not_told(&self) -> f64 {
        self.unknown as f64 / (self.shown + self.unknown).max(1) as f64
    }

    /// Which part of the ranges held the truth.
    #[allow(clippy::cast_precision_loss)]
    pub fn coverage(&self) -> f64 {
        self.inside as f64 / self.shown.max(1) as f64
    }

    /// The mean relative error of their middles.
    #[allow(clippy::cast_precision_loss)]
    pub fn mean_error(&self) -> f64 {
        self.errors / self.shown.max(1) as f64
    }

    /// The mean relative width.
    #[allow(clippy::cast_precision_loss)]
    pub fn mean_width(&self) -> f64 {
        self.widths / self.shown.max(1) as f64
    }
}
