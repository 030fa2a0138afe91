//! Opens a store file, and reads every record in it, so that corruption is found at once.

use std::{
    cell::Cell,
    panic::{self, UnwindSafe, catch_unwind},
    path::Path,
    sync::Once,
};

use redb::Database;

use super::{sweep::sweep_all, tables::Tables};

/// The memory that redb uses as a cache of the file, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// Opens a store file, or creates it if it does not exist. Removes the records whose retention is over.
pub(super) fn open_database(path: &Path) -> Result<Database, redb::Error> {
    // redb panics on some corrupt pages that its checksums do not cover.
    catch_quietly(|| open_and_sweep(path)).unwrap_or_else(|()| {
        let reason = "its pages are corrupt".to_owned();
        Err(redb::Error::Corrupted(reason))
    })
}

fn open_and_sweep(path: &Path) -> Result<Database, redb::Error> {
    let database = Database::builder().set_cache_size(CACHE_BYTES).create(path)?;
    let transaction = database.begin_write()?;
    sweep_all(
        &mut Tables::open(&transaction)?,
        vestibule_telemetry::clock::now_ms(),
    )?;
    transaction.commit()?;
    Ok(database)
}

/// Runs `act` and catches its panic, which is not printed: the caller reports the error itself.
fn catch_quietly<T>(act: impl FnOnce() -> T + UnwindSafe) -> Result<T, ()> {
    thread_local! {
        static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static INSTALL_HOOK: Once = Once::new();
    INSTALL_HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                print(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let caught = catch_unwind(act);
    IS_QUIET.set(false);
    caught.map_err(drop)
}
