//! What a crowd asks of one part of a deployment.

/// The share of a ceiling that is used. The rest is for what comes unevenly.
pub const USED_SHARE: f64 = 0.85;

/// What a crowd asks of one part of a deployment in its busiest time.
#[derive(Debug, Clone, PartialEq)]
pub struct PartLoad {
    /// The part.
    pub part: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// What the crowd asks for.
    pub used: f64,
    /// What the part gives, by the defaults of the template and of a new account.
    pub ceiling: f64,
    /// From where that is known.
    pub source: &'static str,
    /// What to do if that is too little.
    pub remedy: String,
}

impl PartLoad {
    /// The used share of the ceiling.
    pub fn share(&self) -> f64 {
        self.used / self.ceiling
    }

    /// Whether nothing is left for what comes unevenly.
    pub fn is_too_small(&self) -> bool {
        self.share() > USED_SHARE
    }
}
