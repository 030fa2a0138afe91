//! The time series of a scenario as a picture: the entries, the rate of admission, and the polls of both kinds
//! of clients.

use std::{error::Error, path::Path};

use plotters::prelude::*;

use crate::{
    outcome::Sample,
    time_series::{TimeSeries, fixed_polls_per_second, per_second},
};

const SIZE: (u32, u32) = (960, 900);

/// One curve. Its points have the second as the first coordinate.
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) colour: RGBColor,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Draws `NAME.svg` in the folder.
///
/// # Errors
/// The picture cannot be drawn or written.
pub fn draw_plot(series: &TimeSeries<'_>, folder: &Path) -> Result<(), Box<dyn Error>> {
    let titles = ["entries by state", "admissions per second", "polls per second"];
    draw_panels(series.name, titles, &curves(series), folder)
}

/// Draws `NAME.svg` in the folder: the panels with these titles, one below the other.
///
/// # Errors
/// The picture cannot be drawn or written.
pub(crate) fn draw_panels<const N: usize>(
    name: &str,
    titles: [&str; N],
    curves: &[Vec<Curve>; N],
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{name}.svg"));
    let root = SVGBackend::new(&path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let panels = root.split_evenly((N, 1));
    for ((panel, title), curves) in panels.iter().zip(titles).zip(curves) {
        draw_panel(panel, &format!("{name}: {title}"), curves)?;
    }
    root.present()?;
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
fn curves(&TimeSeries { paced, fixed, .. }: &TimeSeries<'_>) -> [Vec<Curve>; 3] {
    let curve = |name, colour, samples: &[Sample], value: &dyn Fn(&Sample) -> f64| {
        let point = |sample: &Sample| (sample.at_ms as f64 / 1_000.0, value(sample));
        Curve {
            name,
            colour,
            points: samples.iter().map(point).collect(),
        }
    };
    [
        vec![
            curve("waiting", BLUE, paced, &|sample| sample.waiting as f64),
            curve("ready and active", GREEN, paced, &|sample| {
                (sample.ready + sample.active) as f64
            }),
        ],
        vec![curve("admitted", BLUE, paced, &|sample| {
            per_second(sample.served)
        })],
        vec![
            curve("polls, paced", BLUE, paced, &|sample| per_second(sample.polls)),
            curve("polls, every 3 s", RED, fixed, &fixed_polls_per_second),
            curve("held polls", GREEN, paced, &|sample| sample.held as f64),
        ],
    ]
}

fn draw_panel(
    panel: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    curves: &[Curve],
) -> Result<(), Box<dyn Error>> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let last = points().map(|(second, _)| *second).fold(1.0, f64::max);
    let highest = points().map(|(_, value)| *value).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(panel)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..last, 0.0..highest * 1.05)?;
    chart.configure_mesh().x_desc("second").draw()?;
    for curve in curves {
        let colour = curve.colour;
        chart
            .draw_series(LineSeries::new(curve.points.iter().copied(), &colour))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    Ok(())
}
