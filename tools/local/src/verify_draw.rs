//! Verifies the place that a draw gave to one entry, by what any visitor can know.

use std::process::ExitCode;

use vestibule_domain::{draw::DrawSeed, id::EntryId, score::WaitScore};

use crate::cli::DrawClaim;

/// Why a place is not the one of the draw.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mismatch {
    #[error("the seed is not 64 hexadecimal digits")]
    InvalidSeed,
    #[error(
        "the commitment is {0}, and that of the seed is {1}: the seed was not the one promised before the opening"
    )]
    OtherCommitment(String, String),
    #[error("{0} is no place of a draw: the entry came after the opening, and stands behind all drawn ones")]
    NotDrawn(u64),
    #[error("the place is {0}, and the draw gives {1}")]
    OtherPlace(u64, u64),
}

/// Prints whether the place is the one of the draw.
pub(crate) fn print_verdict(claim: &DrawClaim) -> ExitCode {
    match verify(claim.token, claim.place, &claim.seed, &claim.commitment) {
        Ok(()) => {
            println!(
                "yes: the draw gives place {} to entry {}",
                claim.place, claim.token
            );
            ExitCode::SUCCESS
        }
        Err(mismatch) => {
            println!("no: {mismatch}");
            ExitCode::FAILURE
        }
    }
}

fn verify(token: EntryId, place: u64, seed: &str, commitment: &str) -> Result<(), Mismatch> {
    let seed = DrawSeed::from_hex(seed.trim()).ok_or(Mismatch::InvalidSeed)?;
    let commitment = commitment.trim().to_ascii_lowercase();
    if seed.commitment() != commitment {
        return Err(Mismatch::OtherCommitment(commitment, seed.commitment()));
    }
    let score = WaitScore::from_raw(place).filter(|score| !score.is_after_opening());
    let score = score.ok_or(Mismatch::NotDrawn(place))?;
    let drawn = seed.draw(token).number();
    // The lane is not drawn.
    if score.order() == drawn {
        Ok(())
    } else {
        let lane = place - score.order();
        Err(Mismatch::OtherPlace(place, lane + drawn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "00112233-4455-8677-8899-aabbccddeeff";
    const PLACE: u64 = 55_804_986_909_314;
    const COMMITMENT: &str = "4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0";

    fn verdict(token: &str, place: u64, seed: &str, commitment: &str) -> Result<(), String> {
        let token = token.parse().expect("a token");
        verify(token, place, seed, commitment).map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn only_the_place_of_the_draw_is_right() {
        let seed = "07".repeat(32);
        assert_eq!(verdict(TOKEN, PLACE, &seed, COMMITMENT), Ok(()));
        let in_lane_2 = PLACE + (2 << 50);
        assert_eq!(
            verdict(TOKEN, in_lane_2, &seed, &COMMITMENT.to_uppercase()),
            Ok(())
        );
        let other_token = TOKEN.replace("ff", "fe");
        let late = PLACE + (1 << 49);
        for (wrong, words) in [
            (
                verdict(&other_token, PLACE, &seed, COMMITMENT),
                "and the draw gives",
            ),
            (verdict(TOKEN, PLACE + 1, &seed, COMMITMENT), "and the draw gives"),
            (verdict(TOKEN, late, &seed, COMMITMENT), "after the opening"),
            (
                verdict(TOKEN, PLACE, &"08".repeat(32), COMMITMENT),
                "not the one promised",
            ),
            (verdict(TOKEN, PLACE, "07", COMMITMENT), "64 hexadecimal digits"),
        ] {
            let reason = wrong.expect_err("a wrong claim");
            assert!(reason.contains(words), "{reason}");
        }
    }
}
