//! What this process uses, as Linux tells it, and the limit of its CPU time.

use std::{env, fs, io, process};

/// The most memory that this process had since [`reset_peak_rss`], in MB.
pub(crate) fn peak_rss_mb() -> io::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.unwrap_or_default() / 1_024.0)
}

/// Starts the measurement of [`peak_rss_mb`] anew.
pub(crate) fn reset_peak_rss() -> io::Result<()> {
    fs::write("/proc/self/clear_refs", "5")
}

/// Moves this process into the control group of `CPU_GROUP`, if it is set. `infra/bench.sh` makes it with the
/// share of a CPU that a function gets.
pub(crate) fn limit_cpu() -> io::Result<()> {
    match env::var("CPU_GROUP") {
        Ok(group) => fs::write(format!("{group}/cgroup.procs"), process::id().to_string()),
        Err(_) => Ok(()),
    }
}
