//! The processor time that processes and Redis have used, as Linux and Redis tell it.

use std::{fs, io};

use redis::{RedisError, aio::ConnectionLike};

/// The clock ticks of a second in `/proc`, which is 100 on every common Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// The processor time of a process with all its threads, in seconds. `process` is its id, or `self`.
///
/// # Errors
/// There is no such process.
pub fn process_seconds(process: &str) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, which may contain spaces, ends with the last parenthesis. The 12th and 13th field
    // behind it are the times in user mode and in the kernel.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    Ok(ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND)
}

/// The processor time of a Redis, in seconds.
///
/// # Errors
/// Redis does not answer.
pub async fn redis_seconds(connection: &mut impl ConnectionLike) -> Result<f64, RedisError> {
    let info: String = redis::cmd("INFO").arg("cpu").query_async(connection).await?;
    let value = |name: &str| {
        let text = info.lines().find_map(|line| line.strip_prefix(name));
        text.and_then(|text| text.trim().parse::<f64>().ok())
            .unwrap_or_default()
    };
    Ok(value("used_cpu_sys:") + value("used_cpu_user:"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn work_of_this_process_is_counted() {
        let before = process_seconds("self").expect("this process");
        let begun = Instant::now();
        while process_seconds("self").expect("this process") <= before {
            assert!(begun.elapsed() < Duration::from_mins(1), "no time was counted");
        }
        assert!(process_seconds("none").is_err());
    }
}
