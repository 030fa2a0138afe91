//! An orderly stop and the start after it: the line inside the process goes on as it was.
//!
//! The stop writes the line to a file of its own, and its name into the store file. The start takes the name from there
//! before anything else, and uses a saved line of that name only. `docs/adr/0028-a-planned-restart-keeps-the-epoch.md` has
//! the reasons.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tracing::warn;
use uuid::Uuid;
use vestibule_backup::{Backup, BackupError};
use vestibule_backup_file::FileBackup;
use vestibule_domain::configuration::LAYOUT;
use vestibule_engine::sync::{SettingsPolicy, build_configuration};
use vestibule_line::{EmbeddedServer, LoadError};

/// The name of the file with the line: commands in the protocol of Redis.
const LINE_FILE: &str = "line.resp";

/// The server of the line, and the file that keeps it from a stop to the next start.
pub(crate) struct SavedLine {
    server: EmbeddedServer,
    path: PathBuf,
}

/// Why the line does not go on.
#[derive(Debug, thiserror::Error)]
enum NewEpochReason {
    #[error("the last run was killed, or could not save its line")]
    NoStop,
    #[error("the line that the last run saved cannot be read ({0})")]
    Missing(#[from] io::Error),
    #[error(
        "the line that the last run saved is of another build, or not of that run ({error}); it is now {aside}"
    )]
    Refused { error: LoadError, aside: String },
}

impl SavedLine {
    pub(crate) fn new(server: EmbeddedServer, folder: &Path) -> Self {
        Self {
            server,
            path: folder.join(LINE_FILE),
        }
    }

    /// Continues the line that the last run stopped in order. If there is none, the promoter restores each queue with a new
    /// epoch, and the log says why.
    ///
    /// # Errors
    /// [`BackupError`] if the store file cannot be read or written.
    pub(crate) async fn continue_line(
        &self,
        file: &FileBackup,
        policy: SettingsPolicy,
    ) -> Result<(), BackupError> {
        let loaded = match file.take_stop().await? {
            Some(stop) => self.load(&stop),
            None => Err(NewEpochReason::NoStop),
        };
        let Err(reason) = loaded else { return Ok(()) };
        for queue in file.list_queues().await? {
            let stored = match file.read_queue(&queue).await {
                Ok(Some(stored)) => stored,
                // The promoter says what is wrong with the queue.
                Ok(None) | Err(BackupError::Unreadable(_)) => continue,
                Err(error) => return Err(error),
            };
            if build_configuration(&stored, policy).is_ok() && stored.require_own_layout().is_ok() {
                warn!(
                    event = "queue.epoch_ended", %queue,
                    "{reason}, so the queue is restored from the file with a new epoch; every stored place stays"
                );
            }
        }
        Ok(())
    }

    fn load(&self, stop: &str) -> Result<(), NewEpochReason> {
        let saved = fs::read(&self.path)?;
        match self.server.load(&saved, &label(stop)) {
            Ok(()) => {
                // Its name is used up, so a file that stays does no harm.
                let _ = fs::remove_file(&self.path);
                Ok(())
            }
            Err(error) => {
                let aside = self.path.with_extension("resp.refused");
                fs::rename(&self.path, &aside)?;
                let aside = aside.display().to_string();
                Err(NewEpochReason::Refused { error, aside })
            }
        }
    }

    /// Stops the line, and saves it with all that the backup does not have yet.
    pub(crate) async fn stop_line(&self, file: &FileBackup) {
        let stop = Uuid::new_v4().to_string();
        let saved = self.server.stop(&label(&stop));
        let written = match self.write(&saved) {
            Ok(()) => file.record_stop(stop).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = written {
            warn!(
                event = "line.not_saved", %error, file = %self.path.display(),
                "the line could not be saved, so the next start restores each queue from the backup with a new epoch"
            );
        }
    }

    /// Writes the file as a whole, or leaves the one before.
    fn write(&self, saved: &[u8]) -> io::Result<()> {
        let new = self.path.with_extension("resp.new");
        let mut file = File::create(&new)?;
        file.write_all(saved)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }
}

/// What a saved line is called: a build with another layout, or a start after another stop, does not read it.
fn label(stop: &str) -> String {
    format!("vestibule line of layout {LAYOUT}, stop {stop}")
}
