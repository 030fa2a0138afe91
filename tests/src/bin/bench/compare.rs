//! Compares this build with an earlier one. Both run as child processes, by turns and against the same servers, so that drift
//! of the machine affects both alike.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use crate::{
    BenchResult,
    figures::{median, print_figure},
    scene::flush_redis,
};

/// The figures that one run printed, by name.
type Figures = BTreeMap<String, f64>;

/// Two builds, and the benchmark that both run.
pub(crate) struct Comparison {
    new: Build,
    old: Build,
    /// The arguments of a run of either build.
    arguments: Vec<String>,
}

/// A build of this program.
struct Build {
    program: PathBuf,
    /// The variables that name the other programs of this build.
    variables: Vec<(&'static str, PathBuf)>,
}

impl Comparison {
    /// A comparison with the build whose benchmark is at this path, and whose other programs are beside it.
    pub(crate) fn new(
        old: &Path,
        programs: &[&str],
        arguments: impl Iterator<Item = String>,
    ) -> BenchResult<Self> {
        for program in programs {
            let path = old.with_file_name(program);
            if !path.exists() {
                let (old, path) = (old.display(), path.display());
                return Err(
                    format!("{path} is missing: put the programs of the same build beside {old}").into(),
                );
            }
        }
        let folder = old.parent().unwrap_or(old).to_owned();
        Ok(Self {
            new: Build {
                program: env::current_exe()?,
                variables: Vec::new(),
            },
            old: Build {
                program: old.to_owned(),
                variables: vec![
                    ("VESTIBULE_LOCAL_BIN", folder.join("vestibule-local")),
                    ("VESTIBULE_FUNCTIONS_DIR", folder),
                ],
            },
            arguments: without_comparison(arguments),
        })
    }

    /// Prints `NAME_vs_old` for each figure that both builds print: the median over the rounds of the new figure divided by
    /// the old one. Higher is better for a rate, and lower for a time or a size.
    pub(crate) async fn run(&self, redis_url: &str, rounds: u32) -> BenchResult {
        let mut ratios = BTreeMap::<String, Vec<f64>>::new();
        for round in 0..rounds {
            // The order alternates, so that neither build is always first.
            let (new, old) = if round % 2 == 0 {
                let new = self.measure(&self.new, redis_url).await?;
                (new, self.measure(&self.old, redis_url).await?)
            } else {
                let old = self.measure(&self.old, redis_url).await?;
                (self.measure(&self.new, redis_url).await?, old)
            };
            for (name, new_value) in new {
                if let Some(old_value) = old.get(&name).filter(|old_value| **old_value != 0.0) {
                    ratios.entry(name).or_default().push(new_value / old_value);
                }
            }
            eprintln!("bench: {} of {rounds} rounds are measured", round + 1);
        }
        for (name, ratios) in ratios {
            print_figure(format!("{name}_vs_old"), median(ratios), 3);
        }
        Ok(())
    }

    /// Runs the benchmark of a build once on an empty Redis.
    async fn measure(&self, build: &Build, redis_url: &str) -> BenchResult<Figures> {
        flush_redis(redis_url).await?;
        let program = build.program.display();
        let output = Command::new(&build.program)
            .args(&self.arguments)
            .envs(build.variables.iter().cloned())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        let figures = parse_figures(&String::from_utf8(output.stdout)?);
        if !output.status.success() || figures.is_empty() {
            return Err(format!(
                "{program} ended with {} and printed {} figures",
                output.status,
                figures.len()
            )
            .into());
        }
        Ok(figures)
    }
}

/// The arguments of this program without those of the comparison.
fn without_comparison(mut arguments: impl Iterator<Item = String>) -> Vec<String> {
    const OPTIONS: [&str; 2] = ["--against", "--rounds"];
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        if OPTIONS.contains(&argument.as_str()) {
            arguments.next();
        } else if !OPTIONS
            .iter()
            .any(|option| argument.starts_with(&format!("{option}=")))
        {
            kept.push(argument);
        }
    }
    kept
}

/// The `name=value` lines whose value is a number.
fn parse_figures(printed: &str) -> Figures {
    let figures = printed.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().parse().ok()?))
    });
    figures.collect()
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

    #[test]
    fn both_builds_get_the_arguments_of_one_run() {
        let given = [
            "--rounds",
            "2",
            "crowd",
            "2000",
            "--against",
            "old/bench",
            "--small",
            "--rounds=3",
        ];
        let arguments = without_comparison(given.into_iter().map(str::to_owned));
        assert_eq!(arguments, ["crowd", "2000", "--small"]);
    }
}
