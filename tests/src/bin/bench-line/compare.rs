//! Compares this build with another build of the benchmark. Both run as child processes, by turns and against
//! the same Redis, so that drift of the machine affects both alike.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use redis::aio::ConnectionManagerConfig;
use tokio::process::Command;

use crate::load::median;

/// The figures without which a run does not count.
const REQUIRED: [&str; 3] = ["enter_vs_zadd", "status_vs_zrank", "promote_1000_ms"];

/// The figures that one run printed, by name.
type Figures = BTreeMap<String, f64>;

/// Prints `NAME_vs_old` for each figure that both builds print: the median over the rounds of the new figure divided
/// by the old one. Higher is better for a rate (`_rps`, `_vs_zadd`, `_vs_zrank`), and lower for a time or a size.
pub(crate) async fn compare(url: &str, old: &Path, rounds: usize) -> Result<(), Box<dyn Error>> {
    let (new, old) = (Build::own()?, Build::at(old));
    let mut ratios = BTreeMap::<String, Vec<f64>>::new();
    for round in 0..rounds {
        // The order alternates, so that neither build is always first.
        let (new_figures, old_figures) = if round % 2 == 0 {
            let new_figures = new.measure(url).await?;
            (new_figures, old.measure(url).await?)
        } else {
            let old_figures = old.measure(url).await?;
            (new.measure(url).await?, old_figures)
        };
        for (name, new_value) in new_figures {
            if let Some(old_value) = old_figures.get(&name) {
                ratios.entry(name).or_default().push(new_value / old_value);
            }
        }
        eprintln!("bench-line: {} of {rounds} rounds are measured", round + 1);
    }
    for (name, ratios) in ratios {
        println!("{name}_vs_old={:.3}", median(ratios));
    }
    Ok(())
}

/// A build of the benchmark.
struct Build {
    program: PathBuf,
    /// The local runner of the same build, whose options the benchmark knows.
    runner: Option<PathBuf>,
}

impl Build {
    /// This build.
    fn own() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            program: env::current_exe()?,
            runner: None,
        })
    }

    /// The build at this path. The local runner beside it, if there is one, is of the same build.
    fn at(program: &Path) -> Self {
        let runner = program.with_file_name("vestibule-local");
        Self {
            program: program.to_owned(),
            runner: runner.is_file().then_some(runner),
        }
    }

    /// Runs all measurements of the build once on an empty Redis. Builds of any age take no arguments for that,
    /// read the same environment and print one `name=value` a line.
    async fn measure(&self, url: &str) -> Result<Figures, Box<dyn Error>> {
        flush_redis(url).await?;
        let mut command = Command::new(&self.program);
        command
            .env("TEST_REDIS_URL", url)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        if let Some(runner) = &self.runner {
            command.env("VESTIBULE_LOCAL_BIN", runner);
        }
        let program = self.program.display();
        let output = command
            .output()
            .await
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        let figures = parse_figures(&String::from_utf8(output.stdout)?);
        for name in REQUIRED {
            if !figures.contains_key(name) {
                return Err(format!("{program} printed no {name} and ended with {}", output.status).into());
            }
        }
        if !output.status.success() {
            // An old build cannot start the new runner if the options of the runner have changed since.
            eprintln!(
                "bench-line: {program} ended with {}: its figures over HTTP are missing; put the vestibule-local of \
                 the same build beside it",
                output.status
            );
        }
        Ok(figures)
    }
}

/// The `name=value` lines whose value is a number.
fn parse_figures(printed: &str) -> Figures {
    let figures = printed.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().parse().ok()?))
    });
    figures.collect()
}

async fn flush_redis(url: &str) -> Result<(), Box<dyn Error>> {
    // To drop a million entries takes Redis a while.
    let config = ConnectionManagerConfig::new().set_response_timeout(Some(Duration::from_mins(1)));
    let client = redis::Client::open(url)?;
    let mut connection = client.get_connection_manager_with_config(config).await?;
    redis::cmd("FLUSHALL").query_async::<()>(&mut connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_parsed_and_other_lines_are_skipped() {
        let printed = "zadd_rps=90038\nenter_vs_zadd=0.477\nwake=none\nsome text\n";
        let expected = [("enter_vs_zadd", 0.477), ("zadd_rps", 90_038.0)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(parse_figures(printed), Figures::from(expected));
    }
}
