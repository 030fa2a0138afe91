//! Which settings come into force, and when.

use serde_json::{Map, json};
use vestibule_domain::{
    configuration::Configuration,
    id::Salt,
    settings::{Message, Settings},
};
use vestibule_line::{ConfigureOutcome, LineError};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::settings::three_a_second;

/// A message whose texts have characters that a careless encoding would change.
fn message_in_two_languages() -> Option<Message> {
    let message = json!({ "ko": "금방 열려요 \"soon\" \\ {Q}\n", "en": "Soon" });
    let settings = Settings::from_map(&Map::from_iter([("message".to_owned(), message)]));
    settings.expect("valid settings").message
}

pub(crate) async fn configure_creates_changes_and_repeats_settings(subject: Subject) {
    let mut settings = Settings {
        message: message_in_two_languages(),
        target_url: Some("https://shop.example/checkout?a=1".to_owned()),
        ..three_a_second()
    };
    let first = configuration(&settings);
    let line = &subject.line;
    let put = async |configuration, create| line.configure(&subject.queue, configuration, create).await;
    assert!(matches!(put(&first, false).await, Err(LineError::QueueNotFound)));
    assert!(matches!(put(&first, true).await, Ok(ConfigureOutcome::Created)));
    let view = subject.view().await;
    assert_eq!(view.configuration, first);
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    assert!(matches!(put(&first, true).await, Ok(ConfigureOutcome::Unchanged)));
    assert!(matches!(
        put(&first, false).await,
        Ok(ConfigureOutcome::Unchanged)
    ));
    assert_eq!(subject.view().await, view);

    settings.message = None;
    settings.capacity = 5;
    let second = configuration(&settings);
    let mut third = second.clone();
    third.revision = String::from("another");
    for (configuration, create) in &[(second, false), (third, true)] {
        subject.enter(visitor(1)).await;
        let changed = put(configuration, *create).await;
        assert!(matches!(changed, Ok(ConfigureOutcome::Changed)), "{changed:?}");
        let again = put(configuration, *create).await;
        assert!(matches!(again, Ok(ConfigureOutcome::Unchanged)), "{again:?}");
        let view = subject.view().await;
        assert_eq!(view.configuration, *configuration);
        assert!(view.active >= 1, "entries stay in the line");
    }
}

pub(crate) async fn configure_ignores_superseded_settings(subject: Subject) {
    let line = &subject.line;
    let put = async |configuration: &Configuration| {
        let answer = line.configure(&subject.queue, configuration, true).await;
        (
            answer.expect("an answer"),
            subject.view().await.view.configuration,
        )
    };
    let ordered = |settings_order, capacity| {
        let settings = Settings {
            capacity,
            ..three_a_second()
        };
        Configuration {
            settings_order,
            ..configuration(&settings)
        }
    };
    let (first, second) = (ordered(1, 5), ordered(2, 6));
    assert_eq!(put(&first).await, (ConfigureOutcome::Created, first.clone()));
    assert_eq!(put(&second).await, (ConfigureOutcome::Changed, second.clone()));
    assert_eq!(
        put(&first).await,
        (ConfigureOutcome::Superseded, second.clone()),
        "these settings were read before the current ones"
    );

    let by_hand = ordered(2, 7);
    assert_eq!(put(&by_hand).await, (ConfigureOutcome::Changed, by_hand.clone()));
    let again = ordered(4, 7);
    assert_eq!(put(&again).await, (ConfigureOutcome::Unchanged, again.clone()));
    assert_eq!(
        put(&ordered(3, 8)).await,
        (ConfigureOutcome::Superseded, again.clone())
    );

    // Settings of a later epoch need a restore. Settings of an earlier epoch are superseded.
    let reset = Configuration {
        epoch: 2,
        generation: 2,
        salt: Salt::new([9; 32]),
        ..ordered(0, 9)
    };
    assert_eq!(put(&reset).await, (ConfigureOutcome::NeedsRestore, again.clone()));
    let earlier = Configuration {
        epoch: 0,
        ..ordered(9, 9)
    };
    assert_eq!(put(&earlier).await, (ConfigureOutcome::Superseded, again));
}
