//! Settings that several topics begin with.

use vestibule_domain::settings::Settings;

pub(crate) fn two_at_a_time() -> Settings {
    Settings {
        capacity: 2,
        batch: 2,
        interval_seconds: 1,
        ..Settings::default()
    }
}

pub(crate) fn three_at_a_time() -> Settings {
    Settings {
        capacity: 100,
        batch: 3,
        interval_seconds: 1,
        ..Settings::default()
    }
}

pub(crate) fn pace(batch: u32, interval_seconds: u32) -> Settings {
    Settings {
        capacity: 1_000_000,
        batch,
        interval_seconds,
        ..Settings::default()
    }
}
