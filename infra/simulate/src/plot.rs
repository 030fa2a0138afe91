//! The course of a run as a picture: the line, who is let through, and the polls of both crowds.

use std::{error::Error, path::Path};

use plotters::prelude::*;

use crate::{
    course::{Course, fixed_polls_per_second, per_second},
    outcome::Sample,
};

const SIZE: (u32, u32) = (960, 900);

/// One curve: its name, its colour, and its points by the second.
struct Curve {
    name: &'static str,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

/// Draws `NAME.svg` in that folder.
///
/// # Errors
/// Where it cannot be drawn or written.
pub fn draw(course: &Course<'_>, folder: &Path) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{}.svg", course.name));
    let root = SVGBackend::new(&path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let panels = root.split_evenly((3, 1));
    let titles = ["in line, and let in", "let through, a second", "polls, a second"];
    for ((panel, title), curves) in panels.iter().zip(titles).zip(curves(course)) {
        draw_panel(panel, &format!("{}: {title}", course.name), &curves)?;
    }
    root.present()?;
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
fn curves(&Course { paced, fixed, .. }: &Course<'_>) -> [Vec<Curve>; 3] {
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
        vec![curve("served", BLUE, paced, &|sample| per_second(sample.served))],
        vec![
            curve("paced", BLUE, paced, &|sample| per_second(sample.polls)),
            curve("every 3 s", RED, fixed, &fixed_polls_per_second),
            curve("held at once", GREEN, paced, &|sample| sample.held as f64),
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
