//! How the backup of a test treats writes.

use vestibule_domain::id::EntryId;
use vestibule_faults::{Fault, Faults};

/// The operations that fail while the backup takes no writes.
const WRITES: [&str; 3] = ["put_change", "probe_writes", "ping"];

/// What the backup does with a write.
#[derive(Debug, Clone)]
pub(crate) enum WriteBehavior {
    /// Writes every change.
    Accepts,
    /// Refuses changes of these entries and writes the others.
    RefusesSome(Vec<EntryId>),
    /// Refuses every change, although the backup answers.
    RefusesAll,
    /// Writes this many more changes and throttles the rest.
    ThrottlesAfter(usize),
    /// Fails every write as unavailable. Reads still work.
    Unavailable,
}

impl WriteBehavior {
    /// Makes the backup behind these faults behave like this, and in no other way.
    pub(crate) fn apply(self, faults: &Faults) {
        for operation in WRITES {
            faults.heal(operation);
        }
        faults.reject_entries(&[]);
        faults.reject_writes(false);
        faults.throttle_after(None);
        match self {
            Self::Accepts => {}
            Self::RefusesSome(entries) => faults.reject_entries(&entries),
            Self::RefusesAll => faults.reject_writes(true),
            Self::ThrottlesAfter(writes) => faults.throttle_after(Some(writes)),
            Self::Unavailable => WRITES
                .iter()
                .for_each(|operation| faults.fail(operation, Fault::Unavailable)),
        }
    }
}
