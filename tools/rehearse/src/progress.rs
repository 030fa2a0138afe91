//! Says on stderr, while a rehearsal runs, how far it is.

use std::{
    collections::VecDeque,
    io::{IsTerminal, Write, stderr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior, interval};

use vestibule_crowd::{
    crowd::Observer,
    ledger::{Ledger, LedgerSums},
    visitor::Stage,
};

/// The pause between two lines, on a terminal and elsewhere.
const PAUSE_ON_TERMINAL: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(2);
/// The time that is left follows from this many of the last lines.
const LINES_KEPT: usize = 10;

/// Counts the visitors in each stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct StageGauges(Arc<[AtomicU64; 5]>);

impl StageGauges {
    fn gauge(&self, stage: Stage) -> &AtomicU64 {
        &self.0[stage as usize]
    }

    /// How many visitors are in a stage.
    fn count(&self, stage: Stage) -> u64 {
        self.gauge(stage).load(Ordering::Relaxed)
    }
}

impl Observer for StageGauges {
    fn change_stage(&self, from: Option<Stage>, to: Stage) {
        if let Some(from) = from {
            self.gauge(from).fetch_sub(1, Ordering::Relaxed);
        }
        self.gauge(to).fetch_add(1, Ordering::Relaxed);
    }
}

/// The bounds that the progress is told beside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgressBounds {
    /// How many visitors come.
    pub(crate) visitors: u64,
    /// Until when they arrive, from the start.
    pub(crate) arrival: Duration,
    /// How long the rehearsal may take.
    pub(crate) longest: Duration,
}

/// What is known at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment {
    elapsed: Duration,
    arrived: u64,
    waiting: u64,
    ready: u64,
    active: u64,
    ended: u64,
    sums: LedgerSums,
}

impl Moment {
    fn read(elapsed: Duration, gauges: &StageGauges, ledger: &Ledger) -> Self {
        let [entering, waiting, ready, active, ended] = [
            Stage::Entering,
            Stage::Waiting,
            Stage::Ready,
            Stage::Active,
            Stage::Ended,
        ]
        .map(|stage| gauges.count(stage));
        Self {
            elapsed,
            arrived: entering + waiting + ready + active + ended,
            waiting,
            ready,
            active,
            ended,
            sums: ledger.sums(),
        }
    }

    /// The time since an earlier moment, in seconds; never 0.
    fn seconds_since(&self, before: &Self) -> f64 {
        self.elapsed.saturating_sub(before.elapsed).as_secs_f64().max(0.1)
    }

    /// The line about this moment, by the moment some lines before.
    #[allow(clippy::cast_precision_loss)] // Some million requests.
    fn describe(&self, before: &Self, bounds: ProgressBounds) -> String {
        let seconds = self.seconds_since(before);
        let rate = (self.sums.requests - before.sums.requests) as f64 / seconds;
        let left = self.time_left(before, bounds);
        let left = left.map_or_else(
            || "the time left is not known yet".to_owned(),
            |left| format!("about {} s left", left.as_secs()),
        );
        format!(
            "{:>4} s of at most {}: {} of {} arrived, {} waiting, {} ready, {} active, {} done; {rate:.0} requests/s, \
             {} failed; {left}",
            self.elapsed.as_secs(),
            bounds.longest.as_secs(),
            self.arrived,
            bounds.visitors,
            self.waiting,
            self.ready,
            self.active,
            self.ended,
            self.sums.failures,
        )
    }

    /// How long the rest takes at the rate of the last lines: the arrivals at least, the longest time at most.
    #[allow(clippy::cast_precision_loss)]
    fn time_left(&self, before: &Self, bounds: ProgressBounds) -> Option<Duration> {
        let longest = bounds.longest.saturating_sub(self.elapsed);
        let shortest = bounds.arrival.saturating_sub(self.elapsed);
        let ended = (self.ended - before.ended) as f64;
        if ended < 1.0 {
            return None;
        }
        let rate = ended / self.seconds_since(before);
        let rest = bounds.visitors.saturating_sub(self.ended) as f64 / rate;
        Some(
            Duration::from_secs_f64(rest.min(longest.as_secs_f64()))
                .max(shortest)
                .min(longest),
        )
    }
}

/// Writes a line each second or two until it is aborted.
pub(crate) async fn show_progress(gauges: StageGauges, ledger: Arc<Ledger>, bounds: ProgressBounds) {
    let is_terminal = stderr().is_terminal();
    let mut ticks = interval(if is_terminal { PAUSE_ON_TERMINAL } else { PAUSE });
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let began_at = Instant::now();
    let mut moments = VecDeque::new();
    loop {
        ticks.tick().await;
        let moment = Moment::read(began_at.elapsed(), &gauges, &ledger);
        if let Some(before) = moments.front() {
            let line = moment.describe(before, bounds);
            // A closed stderr must not end the rehearsal.
            let _ = if is_terminal {
                write!(stderr(), "\r\x1b[2K{line}")
            } else {
                writeln!(stderr(), "{line}")
            };
        }
        moments.push_back(moment);
        if moments.len() > LINES_KEPT {
            moments.pop_front();
        }
    }
}

/// Ends the line of a terminal.
pub(crate) fn end_progress() {
    if stderr().is_terminal() {
        eprintln!();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: ProgressBounds = ProgressBounds {
        visitors: 1_000,
        arrival: Duration::from_secs(30),
        longest: Duration::from_secs(100),
    };

    fn moment(seconds: u64, ended: u64) -> Moment {
        Moment {
            elapsed: Duration::from_secs(seconds),
            arrived: 1_000,
            waiting: 500,
            ready: 20,
            active: 80,
            ended,
            sums: LedgerSums {
                requests: seconds * 300,
                failures: 4,
            },
        }
    }

    #[test]
    fn a_line_has_the_rates_of_the_last_lines() {
        let line = moment(50, 400).describe(&moment(40, 200), BOUNDS);
        assert_eq!(
            line,
            "  50 s of at most 100: 1000 of 1000 arrived, 500 waiting, 20 ready, 80 active, 400 done; 300 requests/s, \
             4 failed; about 30 s left"
        );
    }

    #[test]
    fn a_visitor_is_in_one_stage_at_a_time() {
        let gauges = StageGauges::default();
        gauges.change_stage(None, Stage::Entering);
        gauges.change_stage(Some(Stage::Entering), Stage::Waiting);
        assert_eq!(
            (gauges.count(Stage::Entering), gauges.count(Stage::Waiting)),
            (0, 1)
        );
    }

    #[test]
    fn the_time_left_is_between_the_arrivals_and_the_longest_time() {
        let left = |seconds, ended, before| moment(seconds, ended).time_left(&before, BOUNDS);
        assert_eq!(
            left(10, 900, moment(5, 0)),
            Some(Duration::from_secs(20)),
            "visitors still arrive"
        );
        assert_eq!(
            left(90, 11, moment(80, 10)),
            Some(Duration::from_secs(10)),
            "the time ends before"
        );
        assert_eq!(left(90, 10, moment(80, 10)), None);
    }
}
