//! The README's tour.

use std::time::Duration;

use serde_json::Value;
use vestibule_tests::{template::read_text, waiting::poll_until};

use crate::{
    answers::{assert_as_shown, assert_no_problem},
    page::{CommandRule, Handling, PageCommand, commands, known_commands, shell_fences},
    session::Session,
    start_runner,
};

const PAGE: &str = "README.md";
/// Longer than the two seconds between two promotions of the tour's queue.
const TURN_MAX: Duration = Duration::from_secs(30);

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

#[tokio::test]
async fn the_tour_gives_the_answers_that_it_shows() {
    let (runner, clone) = start_runner();
    let session = Session::new(&runner, &clone);
    let [create, first, second, validate, poll, claim] = steps();
    let type_step = |tokens: &str, step: &PageCommand| {
        let command = format!("{tokens}\n{}", step.command);
        session.type_all(&[command]).remove(0)
    };
    let type_and_compare = |tokens: &str, step: &PageCommand| {
        let answer = type_step(tokens, step);
        assert_no_problem(&step.command, &answer);
        assert_as_shown(&step.answer, &answer);
        answer
    };
    let token_of = |answer: &str| -> String {
        let answer: Value = serde_json::from_str(answer).expect("JSON");
        answer["token"].as_str().expect("a token").to_owned()
    };
    type_and_compare("", &create);
    let first = token_of(&type_and_compare("", &first));
    let second = token_of(&type_and_compare("", &second));
    let tokens = format!("FIRST={first} SECOND={second}");
    type_and_compare(&tokens, &validate);
    // The poll may be answered before the turn comes: it is asked again until it shows the turn, as a client does.
    let answer = poll_until(
        TURN_MAX,
        async || type_step(&tokens, &poll),
        |answer| answer.contains("\"state\":\"ready\""),
    );
    assert_as_shown(&poll.answer, &answer.await);

    let of_the_first = claim.command.replace(
        "22222222-2222-4222-8222-222222222222",
        "11111111-1111-4111-8111-111111111111",
    );
    let refused = session.type_all(&[format!("{tokens}\n{of_the_first}")]).remove(0);
    assert!(refused.contains("token-owner-mismatch"), "{refused}");
    type_and_compare(&tokens, &claim);
}
