//! A run of the closed loop as text, as CSV and as a picture.

use std::{error::Error, fmt::Write as _, fs, path::Path};

use plotters::style::{BLUE, GREEN, RED, RGBColor};

use super::{INTERVAL_SECONDS, LATENCY_MS_MAX, run::Second};
use crate::plot::{Curve, draw_panels};

/// About so many rows has the text.
const ROWS: usize = 24;

/// Some seconds of a run as a text table.
pub fn format_rows(seconds: &[Second]) -> String {
    let mut rows = format!(
        "{:>7} {:>6} {:>9} {:>7} {:>11}\n",
        "second", "batch", "promoted", "active", "latency_ms"
    );
    for chunk in seconds.chunks(seconds.len().div_ceil(ROWS).max(1)) {
        let promoted: u64 = chunk.iter().map(|second| second.promoted).sum();
        let _ = writeln!(
            rows,
            "{:>7} {:>6} {:>9} {:>7} {:>11}",
            chunk[0].second, chunk[0].batch, promoted, chunk[0].active, chunk[0].latency_ms
        );
    }
    rows
}

/// Writes `adaptive.csv` and `adaptive.svg` to the folder.
///
/// # Errors
/// A file cannot be written.
pub fn write_files(seconds: &[Second], folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut text = "second,batch,promoted,active,latency_ms\n".to_owned();
    for at in seconds {
        let _ = writeln!(
            text,
            "{},{},{},{},{}",
            at.second, at.batch, at.promoted, at.active, at.latency_ms
        );
    }
    fs::write(folder.join("adaptive.csv"), text)?;
    let titles = ["visitors let in per interval", "visitors inside", "latency (ms)"];
    draw_panels("adaptive", titles, &curves(seconds), folder)
}

#[allow(clippy::cast_precision_loss)]
fn curves(seconds: &[Second]) -> [Vec<Curve>; 3] {
    let curve = |name, colour: RGBColor, value: &dyn Fn(&Second) -> f64| Curve {
        name,
        colour,
        points: seconds
            .iter()
            .map(|at| (f64::from(at.second), value(at)))
            .collect(),
    };
    let intervals = seconds.chunks(INTERVAL_SECONDS as usize);
    let promoted = Curve {
        name: "promoted",
        colour: GREEN,
        points: intervals
            .map(|interval| {
                let promoted: u64 = interval.iter().map(|second| second.promoted).sum();
                (f64::from(interval[0].second), promoted as f64)
            })
            .collect(),
    };
    // An overloaded service would hide the rest of the curve.
    let shown_ms_max = f64::from(3 * LATENCY_MS_MAX);
    [
        vec![curve("batch in force", BLUE, &|at| at.batch as f64), promoted],
        vec![curve("active", BLUE, &|at| f64::from(at.active))],
        vec![
            curve("latency", BLUE, &|at| f64::from(at.latency_ms).min(shown_ms_max)),
            curve("limit", RED, &|_| f64::from(LATENCY_MS_MAX)),
        ],
    ]
}
