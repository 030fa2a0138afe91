//! The answers of every route and of every problem, byte for byte as `answers.txt` has them. `RECORD_ANSWERS=yes` writes the
//! file anew: its difference is what a change does to those who wrote a client.

mod problems;
mod recording;
mod scenes;

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use vestibule_wire::problem::{Audience, Code};

use self::recording::Recording;

super::cases![the_answers_are_as_they_were];

/// Problems that no scene meets.
const MET_ELSEWHERE: [(Code, &str); 9] = [
    (Code::Internal, "a fault of Vestibule; shared/api/src/problem"),
    (Code::CookieRequired, "a page only; the suite without_javascript"),
    (
        Code::TooManyCalls,
        "an answer of the authorizer; authorizer::answers",
    ),
    (
        Code::SettingsChanged,
        "two commands at once; admin::tests::overtaken",
    ),
    (
        Code::RotationUnderWay,
        "two keys in a store; admin::tests::rotate",
    ),
    (
        Code::KeysUnavailable,
        "a store that refuses; admin::tests::rotate",
    ),
    (
        Code::EpochChanged,
        "a reset during a command; admin::tests::raced",
    ),
    (Code::QueueReset, "a reset during a check; admin::tests::raced"),
    (Code::EpochBehind, "a table that went back; admin::tests::raced"),
];

async fn the_answers_are_as_they_were() {
    let mut recording = Recording::default();
    scenes::record(&mut recording).await;
    problems::record(&mut recording).await;

    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http/in_process/recorded_answers/answers.txt");
    if env::var_os("RECORD_ANSWERS").is_some() {
        fs::write(&path, recording.text()).expect("the folder can be written");
    }
    let recorded = fs::read_to_string(&path).expect("the file is there");
    for (now, before) in recording.text().split("\n\n").zip(recorded.split("\n\n")) {
        assert_eq!(
            now, before,
            "an answer has changed: RECORD_ANSWERS=yes writes it anew"
        );
    }
    assert_eq!(
        recording.text().len(),
        recorded.len(),
        "an answer is missing or new"
    );

    let elsewhere: BTreeSet<_> = MET_ELSEWHERE.iter().map(|(code, _)| code.name()).collect();
    // The console and API Gateway answer with these.
    let is_of_others = |code: &Code| {
        matches!(code.audience(), Audience::Console | Audience::Gateway) || *code == Code::ForeignHost
    };
    for code in Code::ALL.iter().filter(|code| !is_of_others(code)) {
        let is_met = recording.codes().contains(code.name());
        assert_ne!(is_met, elsewhere.contains(code.name()), "{code:?}");
    }
}
