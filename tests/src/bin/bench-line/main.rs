//! Measures the line in Redis against the raw commands that it uses. The figures are ratios within one run,
//! because on a shared machine an absolute figure says little.
//!
//! It prints one `name=value` a line. Run it with `make bench-line`, which starts a Redis of its own.
//!
//! `ARGS="--against PATH"` compares this build with another one: PATH is an earlier build of this program. Both builds
//! run by turns, and the program prints the ratio of their figures as `NAME_vs_old`. `--rounds N` sets the number of
//! rounds.

mod absent;
mod compare;
mod http;
mod load;
mod memory;
mod ping;
mod rounds;

use std::{env, error::Error, path::PathBuf};

use vestibule_line::Line;

const USAGE: &str = "usage: bench-line [--against PATH [--rounds N]]";
const ROUNDS: usize = 5;

/// What every measurement works on.
struct Bench {
    url: String,
    line: Line,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Measure,
    Compare { old: PathBuf, rounds: usize },
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let command = parse_arguments(env::args().skip(1))?;
    let url = env::var("TEST_REDIS_URL")
        .map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-line`")?;
    match command {
        Command::Measure => measure(url).await,
        Command::Compare { old, rounds } => compare::compare(&url, &old, rounds).await,
    }
}

fn parse_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Command, &'static str> {
    let (mut old, mut rounds) = (None, None);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match argument.as_str() {
            "--against" => old = Some(PathBuf::from(value)),
            "--rounds" => {
                let count: usize = value.parse().map_err(|_| USAGE)?;
                rounds = Some(count).filter(|count| *count > 0);
                rounds.ok_or(USAGE)?;
            }
            _ => return Err(USAGE),
        }
    }
    match (old, rounds) {
        (Some(old), rounds) => Ok(Command::Compare {
            old,
            rounds: rounds.unwrap_or(ROUNDS),
        }),
        (None, None) => Ok(Command::Measure),
        (None, Some(_)) => Err(USAGE),
    }
}

async fn measure(url: String) -> Result<(), Box<dyn Error>> {
    let bench = Bench {
        line: Line::connect(&url).await?,
        url,
    };
    rounds::measure_enter(&bench).await?;
    memory::measure_million(&bench).await?;
    absent::measure_absent(&bench).await?;
    http::measure_rates(&bench.url).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Command, &'static str> {
        parse_arguments(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn arguments_select_measuring_or_comparing() {
        assert_eq!(parse(&[]), Ok(Command::Measure));
        let old = PathBuf::from("old/bench-line");
        let compare = |rounds| {
            Ok(Command::Compare {
                old: old.clone(),
                rounds,
            })
        };
        assert_eq!(parse(&["--against", "old/bench-line"]), compare(ROUNDS));
        let arguments = ["--rounds", "2", "--against", "old/bench-line"];
        assert_eq!(parse(&arguments), compare(2));
        for wrong in [
            &["--against"][..],
            &["--rounds", "2"],
            &["--rounds", "0"],
            &["x", "y"],
        ] {
            assert_eq!(parse(wrong), Err(USAGE), "{wrong:?}");
        }
    }
}
