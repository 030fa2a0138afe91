//! What the parameter `Size` of `template.yaml` stands for: the numbers of the parameters that say [`BY_SIZE`].

/// The value of a parameter whose number comes from the size.
pub const BY_SIZE: &str = "by size";

/// Each parameter with its number in a trial and in a sale.
const NUMBERS: [(&str, u32, u32); 15] = [
    ("HeldBudget", 2, 200),
    ("ThrottleRate", 40, 5_000),
    ("ThrottleBurst", 40, 2_500),
    ("DocumentThrottleRate", 20, 1_000),
    ("EnterThrottleRate", 10, 530),
    ("ClaimThrottleRate", 10, 500),
    ("ValidateThrottleRate", 20, 1_000),
    ("DocumentConcurrency", 0, 100),
    ("EnterConcurrency", 0, 53),
    ("ClaimConcurrency", 0, 50),
    ("StatusConcurrency", 0, 300),
    ("ValidateConcurrency", 0, 100),
    ("AuthorizerConcurrency", 0, 100),
    ("PromoterConcurrency", 0, 3),
    ("OperatorConcurrency", 0, 5),
];

/// The number of a parameter in a size, `trial` or `sale`. `None` if the size decides nothing about it.
pub fn number_by_size(size: &str, parameter: &str) -> Option<u32> {
    let (_, trial, sale) = NUMBERS.iter().find(|(name, ..)| *name == parameter)?;
    match size {
        "trial" => Some(*trial),
        "sale" => Some(*sale),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_template() {
        let template = include_str!("../../../template.yaml");
        let (_, sizes) = template.split_once("\n  Sizes:\n").expect("the mapping");
        let (trial, sale) = sizes.split_once("\n    sale:\n").expect("two sizes");
        for (parameter, of_trial, of_sale) in NUMBERS {
            for (size, number) in [(trial, of_trial), (sale, of_sale)] {
                let line = format!("      {parameter}: \"{number}\"\n");
                assert!(size.contains(&line), "{parameter}: {number}");
            }
        }
    }
}
