//! Results that concern no queue.

use serde::Serialize;
use vestibule_domain::preflight::Finding;

/// The result of `preflight`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PreflightResult {
    /// Which build answers.
    pub build: Build,
    /// One finding for each check.
    pub findings: Vec<Finding>,
}

/// A build of Vestibule.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Build {
    /// The version.
    pub version: &'static str,
    /// The commit. Null if the release did not say it.
    pub commit: Option<String>,
}

/// The result of `rotate`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KeyRotation {
    /// Now, in Unix milliseconds: the new key is among the public keys, and services begin to read it.
    pub published_at_ms: u64,
    /// When new passes are signed with the new key, in Unix milliseconds. At once if the old one `leaked`.
    pub signs_from_ms: u64,
    /// When the old key is published no more, in Unix milliseconds: its last pass has ended. Null if it `leaked`.
    pub old_key_retires_at_ms: Option<u64>,
    /// How old the keys in a process or a cache may be, in seconds.
    pub key_cache_seconds: u32,
    /// How many keys the ring has, with those that still verify passes.
    pub keys: usize,
    /// How many leaked keys the public documents list.
    pub void_keys: usize,
}
