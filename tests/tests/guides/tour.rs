//! The README's tour.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;
use vestibule_tests::template::read_text;

use crate::{
    answers::{assert_as_shown, assert_no_problem},
    page::{CommandRule, Handling, PageCommand, commands, known_commands, shell_fences},
    session::Session,
    start_runner,
};

const PAGE: &str = "README.md";

const COMMANDS: &[CommandRule] = &[
    ("make run", Handling::Make, ""),
    ("make test", Handling::Make, ""),
    ("curl -s ", Handling::WithValues, ""),
    ("FIRST=", Handling::WithValues, ""),
    ("SECOND=", Handling::WithValues, ""),
];

/// The commands of the tour, without the two lines that set the tokens.
fn steps() -> [PageCommand; 6] {
    let page = read_text(PAGE);
    let (_, tour) = page.split_once("\n## A tour\n").expect("the tour begins");
    let (tour, _) = tour.split_once("\n## ").expect("the tour ends");
    let typed = shell_fences(tour).into_iter().flat_map(|fence| commands(&fence));
    let steps: Vec<_> = typed
        .filter(|typed| !typed.command.starts_with("FIRST=") && !typed.command.starts_with("SECOND="))
        .collect();
    steps.try_into().expect("six steps")
}

#[test]
fn every_command_of_the_readme_is_known() {
    known_commands(PAGE, COMMANDS);
}

/// All commands pasted at once.
#[tokio::test]
async fn the_tour_gives_the_answers_that_it_shows() {
    type_tour(Duration::ZERO).await;
}

#[tokio::test]
async fn a_reader_of_the_tour_gets_the_answers_too() {
    tokio::join!(
        type_tour(Duration::from_secs(1)),
        type_tour(Duration::from_secs(5))
    );
}

/// Types the tour with a pause before each command.
async fn type_tour(pause: Duration) {
    let (runner, clone) = start_runner();
    let session = Session::new(&runner, &clone);
    let [create, first, second, validate, poll, claim] = steps();
    let type_step = |tokens: &str, step: &PageCommand| {
        let command = format!("{tokens}\n{}", step.command);
        session.type_all(&[command]).remove(0)
    };
    let type_and_compare = async |tokens: &str, step: &PageCommand| {
        sleep(pause).await;
        let answer = type_step(tokens, step);
        assert_no_problem(&step.command, &answer);
        assert_as_shown(&step.answer, &answer);
        answer
    };
    let token_of = |answer: &str| -> String {
        let answer: Value = serde_json::from_str(answer).expect("JSON");
        answer["token"].as_str().expect("a token").to_owned()
    };
    type_and_compare("", &create).await;
    let first = token_of(&type_and_compare("", &first).await);
    let second = token_of(&type_and_compare("", &second).await);
    let tokens = format!("FIRST={first} SECOND={second}");
    type_and_compare(&tokens, &validate).await;
    // The poll is held until the turn.
    type_and_compare(&tokens, &poll).await;

    let of_the_first = claim.command.replace(
        "22222222-2222-4222-8222-222222222222",
        "11111111-1111-4111-8111-111111111111",
    );
    let refused = session.type_all(&[format!("{tokens}\n{of_the_first}")]).remove(0);
    assert!(refused.contains("token-owner-mismatch"), "{refused}");
    type_and_compare(&tokens, &claim).await;
}
