//! Settings that several topics use.

use vestibule_domain::settings::Settings;

/// The default settings with this capacity and pace.
pub(crate) fn bounded(capacity: u32, batch: u32, interval_seconds: u32) -> Settings {
    Settings {
        capacity,
        batch,
        interval_seconds,
        ..Settings::default()
    }
}

/// Room for two entries, which one tick may fill.
pub(crate) fn two_at_a_time() -> Settings {
    bounded(2, 2, 1)
}

/// Three promotions a second, and room for all entries of a test.
pub(crate) fn three_a_second() -> Settings {
    bounded(100, 3, 1)
}

/// This pace, and room for all entries of a test.
pub(crate) fn with_pace(batch: u32, interval_seconds: u32) -> Settings {
    bounded(1_000_000, batch, interval_seconds)
}

/// These settings, but every visitor is promoted in turn, present or not.
pub(crate) fn in_turn(settings: Settings) -> Settings {
    Settings {
        presence_seconds: 0,
        ..settings
    }
}
