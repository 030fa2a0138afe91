//! Switches that the line takes while the backup is away. No configuration from the backup replaces them until it has them.

use vestibule_domain::{
    configuration::Configuration,
    settings::{Entrance, Settings},
};
use vestibule_line::{ConfigureOutcome, LineError, RestoredEntries, SwitchOrder, UnsavedSwitches};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{restore::configuration_of_epoch, settings::three_a_second};

/// A switch to these settings, as given by a process that has seen the revision before.
fn order(name: &'static str, before: &Configuration, settings: &Settings) -> SwitchOrder {
    SwitchOrder {
        name,
        revision_before: before.revision.clone(),
        configuration: Configuration {
            revision: configuration(settings).revision,
            settings: settings.clone(),
            ..before.clone()
        },
    }
}

async fn switch(subject: &Subject, order: &SwitchOrder) -> ConfigureOutcome {
    subject.line.switch(&subject.queue, order).await.expect("switch")
}

async fn configure(subject: &Subject, configuration: &Configuration) -> ConfigureOutcome {
    let configured = subject.line.configure(&subject.queue, configuration, false).await;
    configured.expect("configure")
}

async fn unsaved(subject: &Subject) -> Option<UnsavedSwitches> {
    let unsaved = subject.line.unsaved_switches(&subject.queue).await;
    unsaved.expect("unsaved_switches")
}

async fn settle_switches(subject: &Subject, serial: u64) -> bool {
    let settled = subject.line.settle_switches(&subject.queue, serial).await;
    settled.expect("settle_switches")
}

async fn in_force(subject: &Subject) -> Configuration {
    subject.view().await.view.configuration
}

pub(crate) async fn a_switch_acts_and_stays_until_it_is_settled(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=6).await;
    let stored = in_force(&subject).await;
    assert_eq!(unsaved(&subject).await, None);
    let paused = Settings {
        paused: true,
        ..stored.settings.clone()
    };
    let pause = order("paused", &stored, &paused);
    assert_eq!(switch(&subject, &pause).await, ConfigureOutcome::Changed);
    subject.advance_ms(5_000);
    assert_eq!(subject.tick().await.promoted, 0, "it acts at once");

    // Each sync brings the stored settings, and an edit of them.
    let edited = Settings {
        capacity: 7,
        ..stored.settings.clone()
    };
    let edited = Configuration {
        revision: configuration(&edited).revision,
        settings: edited,
        settings_order: stored.settings_order + 1,
        ..stored.clone()
    };
    for late in [&stored, &edited] {
        assert_eq!(configure(&subject, late).await, ConfigureOutcome::SwitchesUnsaved);
    }
    assert!(in_force(&subject).await.settings.paused);
    let names = vec!["paused".to_owned()];
    let found = unsaved(&subject).await.expect("unsaved");
    assert_eq!(found.names, names);

    // Once the backup has it, its settings count again.
    assert!(settle_switches(&subject, found.serial).await);
    assert_eq!(unsaved(&subject).await, None);
    assert_eq!(configure(&subject, &edited).await, ConfigureOutcome::Changed);
    assert_eq!(in_force(&subject).await, edited);
}

pub(crate) async fn a_later_switch_is_not_settled_by_an_earlier_save(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let first = in_force(&subject).await;
    let paused = Settings {
        paused: true,
        ..first.settings.clone()
    };
    switch(&subject, &order("paused", &first, &paused)).await;
    let early = unsaved(&subject).await.expect("unsaved");
    let second = in_force(&subject).await;
    let draining = Settings {
        entrance: Entrance::Draining,
        ..paused.clone()
    };
    switch(&subject, &order("entrance", &second, &draining)).await;
    assert!(!settle_switches(&subject, early.serial).await);
    let late = unsaved(&subject).await.expect("unsaved");
    assert_eq!(late.names, ["entrance", "paused"]);
    assert!(late.serial > early.serial);
    // The same switch back is one name.
    let third = in_force(&subject).await;
    let resumed = Settings {
        paused: false,
        ..draining
    };
    switch(&subject, &order("paused", &third, &resumed)).await;
    let last = unsaved(&subject).await.expect("unsaved");
    assert_eq!(last.names, ["entrance", "paused"]);
    assert!(settle_switches(&subject, last.serial).await);
    assert_eq!(unsaved(&subject).await, None);
    let view = subject.view().await;
    assert_eq!(view.configuration.settings, resumed);
}

pub(crate) async fn an_outdated_switch_changes_nothing(mut subject: Subject) {
    let line = subject.line.clone();
    let unknown = configuration(&three_a_second());
    let pause = order("paused", &unknown, &unknown.settings);
    let refused = line.switch(&subject.queue, &pause).await;
    assert!(matches!(refused, Err(LineError::QueueNotFound)), "{refused:?}");
    let refused = line.unsaved_switches(&subject.queue).await.map(drop);
    assert!(matches!(refused, Err(LineError::QueueNotFound)), "{refused:?}");
    let refused = line.settle_switches(&subject.queue, 1).await.map(drop);
    assert!(matches!(refused, Err(LineError::QueueNotFound)), "{refused:?}");

    subject.open(three_a_second()).await;
    let seen = in_force(&subject).await;
    let paused = Settings {
        paused: true,
        ..seen.settings.clone()
    };
    subject.change_settings(|settings| settings.capacity = 9).await;
    assert_eq!(
        switch(&subject, &order("paused", &seen, &paused)).await,
        ConfigureOutcome::Superseded,
        "the capacity would go back"
    );
    let now = in_force(&subject).await;
    assert_eq!(
        switch(&subject, &order("paused", &now, &now.settings)).await,
        ConfigureOutcome::Unchanged
    );
    assert_eq!(unsaved(&subject).await, None, "nothing is to be saved");
    assert_eq!((now.settings.capacity, now.settings.paused), (9, false));
}

/// A restore has the settings of the backup, which its caller saved the switches in.
pub(crate) async fn a_restored_queue_has_no_unsaved_switch(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.enter(visitor(1)).await;
    let before = in_force(&subject).await;
    let paused = Settings {
        paused: true,
        ..before.settings.clone()
    };
    switch(&subject, &order("paused", &before, &paused)).await;
    let restored = configuration_of_epoch(&subject, 2);
    let places = RestoredEntries::default();
    let outcome = subject.line.restore(&subject.queue, &restored, 0, places).await;
    assert_eq!(outcome.expect("restore"), ConfigureOutcome::Created);
    assert_eq!(unsaved(&subject).await, None);
    assert_eq!(configure(&subject, &restored).await, ConfigureOutcome::Unchanged);
}
