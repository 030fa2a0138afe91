//! Draws against an even distribution, by the chi-square test.

use vestibule_domain::{draw::DrawSeed, id::Salt, score::ORDER_BITS};
use vestibule_tests::lines::visitor;

use crate::{BenchResult, figures::print_figure};

/// Draws with each seed.
const DRAWS: u64 = 1_000;
/// Classes of equal width into which the draws fall. That one less is even makes [`find_probability`] simple.
const CLASSES: usize = 101;

/// Draws a thousand visitors with each seed, and tests whether any part of the line is favoured.
pub(super) fn measure(salts: impl Iterator<Item = Salt>) -> BenchResult {
    let mut counts = [0_u32; CLASSES];
    let mut draws = 0;
    for salt in salts {
        let seed = DrawSeed::of_salt(&salt);
        for number in 0..DRAWS {
            let order = u128::from(seed.draw(visitor(number)).number());
            let class = usize::try_from((order * CLASSES as u128) >> ORDER_BITS)?;
            counts[class] += 1;
            draws += 1;
        }
    }
    let expected = f64::from(draws) / f64::from(u32::try_from(CLASSES)?);
    let chi_square: f64 = counts
        .iter()
        .map(|count| (f64::from(*count) - expected).powi(2) / expected)
        .sum();
    println!("draws={draws}");
    print_figure("chi_square", chi_square, 2);
    print_figure("p", find_probability(chi_square, u32::try_from(CLASSES)? - 1), 4);
    Ok(())
}

/// The probability that chance exceeds this chi-square, for an even number of degrees of freedom (Abramowitz and Stegun,
/// 26.4.21): the sum of the first half of as many terms of a Poisson distribution with the mean `chi_square / 2`.
fn find_probability(chi_square: f64, degrees_of_freedom: u32) -> f64 {
    let mean = chi_square / 2.0;
    let mut term = (-mean).exp();
    let mut sum = 0.0;
    for number in 1..=degrees_of_freedom / 2 {
        sum += term;
        term *= mean / f64::from(number);
    }
    sum
}
