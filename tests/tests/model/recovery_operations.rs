//! What happens to a whole queue: it is lost and restored, reset, or deleted and created again.

use proptest::prelude::*;
use redis::aio::ConnectionLike;
use vestibule_domain::{
    change::Change, configuration::Configuration, record::EntryRecord, score::Visit, tombstone::Tombstone,
};
use vestibule_line::{
    Arrival, ClaimOutcome, ConfigureOutcome, EntryLookup, LeaveOutcome, LeaveReason, LineError, NotFound,
    QueueTrace, RestoredEntries, ValidateOutcome, Validation,
};
use vestibule_tests::{entries, lines::visitor};

use crate::{
    checked_line::{Check, CheckedLine, JOURNAL_RECORDS_MAX, Recovered, RestoredQueue, require, to_text},
    operations::VISITORS,
    queue_keys::{begin_streams, find_keys, key, persist_keys, remove_queue},
};

/// How long a record whose visit began in the future is believed, in milliseconds.
const FUTURE_MAX_MS: u64 = 60_000;

/// What happens to a whole queue.
#[derive(Debug, Clone)]
pub(crate) enum Recovery {
    /// A promoter takes the queue for lost, and restores it.
    Restore {
        /// Whether the line has lost all its keys.
        has_lost_keys: bool,
        /// Whether the backup takes the changes that only the line has before it is read.
        salvages: bool,
        /// Whether another process begins a restore with a later epoch meanwhile.
        is_overtaken: bool,
    },
    /// An operator resets the queue.
    Reset {
        /// Whether the process drops the queue first.
        drops: bool,
    },
    /// An operator deletes the queue and creates it again.
    Delete {
        /// Whether a restore has begun before.
        during_restore: bool,
        /// Whether the process that creates the queue again is killed, and another one restores it.
        is_restored: bool,
    },
    /// A process that knows an earlier state of the queue goes on. `epochs_ago` is how old the state is.
    Resume { epochs_ago: u32, command: LateCommand },
}

/// What a process does that was suspended for long.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LateCommand {
    Drop,
    Restore,
    Delete,
    Create,
}

pub(crate) fn recovery() -> impl Strategy<Value = Recovery> {
    let command = prop_oneof![
        Just(LateCommand::Drop),
        Just(LateCommand::Restore),
        Just(LateCommand::Delete),
        Just(LateCommand::Create)
    ];
    let rarely = || prop_oneof![2 => Just(false), 1 => Just(true)];
    let mostly = || prop_oneof![1 => Just(false), 3 => Just(true)];
    prop_oneof![
        6 => (rarely(), mostly(), rarely()).prop_map(|(has_lost_keys, salvages, is_overtaken)| Recovery::Restore {
            has_lost_keys,
            salvages,
            is_overtaken
        }),
        1 => any::<bool>().prop_map(|drops| Recovery::Reset { drops }),
        1 => any::<(bool, bool)>()
            .prop_map(|(during_restore, is_restored)| Recovery::Delete { during_restore, is_restored }),
        6 => (0_u32..3, command).prop_map(|(epochs_ago, command)| Recovery::Resume { epochs_ago, command }),
    ]
}

impl CheckedLine {
    /// Runs the operation. Returns what became of the queue, or which rule an answer breaks.
    pub(crate) async fn run_recovery(&mut self, recovery: &Recovery) -> Result<Recovered, String> {
        match *recovery {
            Recovery::Restore {
                has_lost_keys,
                salvages,
                is_overtaken,
            } => self.lose_and_restore(has_lost_keys, salvages, is_overtaken).await,
            Recovery::Reset { drops } => self.reset(drops).await,
            Recovery::Delete {
                during_restore,
                is_restored,
            } => self.delete_and_create(during_restore, is_restored).await,
            Recovery::Resume { epochs_ago, command } => self
                .resume(epochs_ago, command)
                .await
                .map(|()| Recovered::Unchanged),
        }
    }

    async fn lose_and_restore(
        &mut self,
        has_lost_keys: bool,
        salvages: bool,
        is_overtaken: bool,
    ) -> Result<Recovered, String> {
        let opened_at_ms = self.opened_at_ms().await?;
        if has_lost_keys {
            remove_queue(&mut self.link.clone(), &self.queue).await;
            begin_streams(&mut self.link.clone(), &self.queue).await;
        }
        self.drop_for_next_epoch().await?;
        if is_overtaken {
            let overtaken = self.configuration();
            self.drop_for_next_epoch().await?;
            let is_dropped = self.line.drop_queue(&self.queue, overtaken.epoch).await;
            require(!is_dropped.map_err(to_text)?, || {
                "an overtaken process dropped the queue".to_owned()
            })?;
            self.require_restore(&overtaken, ConfigureOutcome::Superseded)
                .await?;
        }
        let kept_journal = self.line.unflushed(&self.queue, JOURNAL_RECORDS_MAX).await;
        let kept_journal = kept_journal.map_err(to_text)?.records;
        if salvages {
            self.salvage().await?;
        }
        let configuration = Configuration {
            opened_at_ms,
            ..self.configuration()
        };
        let now_ms = self.clock.now_ms();
        let watermark = self.stored.watermark;
        let entries = self.stored.restored_entries(now_ms);
        let restored = self
            .line
            .restore(&self.queue, &configuration, watermark, entries)
            .await;
        require_outcome(&restored, ConfigureOutcome::Created)?;
        self.require_restore(&configuration, ConfigureOutcome::Unchanged)
            .await?;
        // The backup has each place that is there now.
        self.provisional_places.clear();
        self.require_lasting_keys().await?;
        if !salvages {
            let journal = self.line.journal_records(&self.queue, JOURNAL_RECORDS_MAX).await;
            let journal = journal.map_err(to_text)?;
            require(journal == kept_journal, || {
                format!("{journal:?} is the journal, after {kept_journal:?}")
            })?;
        }
        let mut records = self.stored.live_records(now_ms);
        let is_exact = self.drop_future_visits(&mut records) && self.stored.is_exact;
        self.stored.is_exact = is_exact && salvages;
        Ok(Recovered::Restored(Box::new(RestoredQueue {
            configuration,
            records,
            has_lost_keys,
            is_exact: is_exact && (salvages || has_lost_keys),
        })))
    }

    /// Drops the queue for a restore with the next epoch. Then the line does not have it.
    async fn drop_for_next_epoch(&mut self) -> Check {
        let before = self.configuration();
        self.epoch += 1;
        for _ in 0..2 {
            let is_dropped = self.line.drop_queue(&self.queue, self.epoch).await;
            require(is_dropped.map_err(to_text)?, || {
                "the queue was not dropped".to_owned()
            })?;
        }
        self.require_late_deletion(self.epoch).await?;
        self.require_no_queue(&before).await
    }

    /// No call finds the queue, and an earlier configuration does not create it.
    async fn require_no_queue(&self, earlier: &Configuration) -> Check {
        let (line, queue) = (&self.line, &self.queue);
        for answer in [
            line.queue_view(queue).await.map(drop),
            line.enter(queue, visitor(1), Arrival::Ordinary).await.map(drop),
            line.claim(queue, visitor(2)).await.map(drop),
            line.configure(queue, earlier, true).await.map(drop),
        ] {
            require(matches!(answer, Err(LineError::QueueNotFound)), || {
                format!("{answer:?}, although the queue is not there")
            })?;
        }
        Ok(())
    }

    /// The backup takes what only the line has.
    async fn salvage(&mut self) -> Check {
        let unflushed = self.line.unflushed(&self.queue, JOURNAL_RECORDS_MAX).await;
        let unflushed = unflushed.map_err(to_text)?;
        let generation = unflushed.generation.unwrap_or(self.generation);
        require(generation == self.generation, || {
            format!("the changes are of generation {generation}")
        })?;
        let changes = unflushed.records.iter().flat_map(|record| &record.changes);
        for change in changes.chain(&unflushed.ends) {
            self.stored.write(change);
        }
        let keys: Vec<_> = unflushed
            .records
            .iter()
            .map(|record| record.key.clone())
            .collect();
        let ends: Vec<_> = unflushed.ends.iter().filter_map(Change::visit_end).collect();
        let acknowledged = self.line.acknowledge(&self.queue, &keys, &ends).await;
        acknowledged.map_err(to_text)?;
        let left = self.line.unflushed(&self.queue, JOURNAL_RECORDS_MAX).await;
        let left = left.map_err(to_text)?;
        require(left.records.is_empty() && left.ends.is_empty(), || {
            format!("{left:?} is left of the journal")
        })
    }

    async fn reset(&mut self, drops: bool) -> Result<Recovered, String> {
        if drops {
            self.drop_for_next_epoch().await?;
        } else {
            self.epoch += 1;
        }
        self.generation += 1;
        self.min_epoch = self.epoch;
        let configuration = self.configuration();
        self.stored.forget_generation();
        let watermark = self.stored.watermark;
        let nothing = RestoredEntries::default();
        let restored = self
            .line
            .restore(&self.queue, &configuration, watermark, nothing)
            .await;
        require_outcome(&restored, ConfigureOutcome::Created)?;
        self.begin_generation().await?;
        Ok(Recovered::New {
            configuration: Box::new(configuration),
            is_full: false,
        })
    }

    async fn delete_and_create(
        &mut self,
        during_restore: bool,
        is_restored: bool,
    ) -> Result<Recovered, String> {
        if during_restore {
            self.drop_for_next_epoch().await?;
        }
        let before = self.configuration();
        let tombstone = Tombstone::new(self.epoch, self.generation, entries::now_ms());
        for _ in 0..2 {
            let is_deleted = self.line.delete_queue(&self.queue, &tombstone).await;
            require(is_deleted.map_err(to_text)?, || {
                "the queue was not deleted".to_owned()
            })?;
        }
        self.require_only_tombstone(&tombstone).await?;
        self.require_no_queue(&before).await?;
        let buried = Configuration {
            epoch: tombstone.epoch,
            ..before
        };
        self.require_no_queue(&buried).await?;
        let is_dropped = self.line.drop_queue(&self.queue, tombstone.epoch).await;
        require(!is_dropped.map_err(to_text)?, || {
            "a deleted queue was dropped".to_owned()
        })?;
        self.require_restore(&buried, ConfigureOutcome::Superseded)
            .await?;
        self.require_late_deletion(before.epoch).await?;

        self.epoch = tombstone.epoch + 1;
        self.generation += 1;
        self.stored.forget_generation();
        self.stored.watermark = 0;
        if is_restored {
            self.drop_for_next_epoch().await?;
        }
        self.min_epoch = self.epoch;
        let configuration = self.configuration();
        let nothing = RestoredEntries::default();
        let created = if is_restored {
            self.line.restore(&self.queue, &configuration, 0, nothing).await
        } else {
            self.line.configure(&self.queue, &configuration, true).await
        };
        require_outcome(&created, ConfigureOutcome::Created)?;
        self.begin_generation().await?;
        Ok(Recovered::New {
            configuration: Box::new(configuration),
            is_full: !is_restored,
        })
    }

    /// Nothing is left of a deleted queue but its tombstone, which has a time to live.
    async fn require_only_tombstone(&self, tombstone: &Tombstone) -> Check {
        let mut link = self.link.clone();
        let keys = find_keys(&mut link, &self.queue).await;
        require(keys == ["tombstone"], || {
            format!("{keys:?} are left of a deleted queue")
        })?;
        let mortal = persist_keys(&mut link, &self.queue).await;
        require(mortal == ["tombstone"], || format!("{mortal:?} expire"))?;
        let mut expire = redis::cmd("EXPIRE");
        expire.arg(key(&self.queue, "tombstone")).arg(86_400);
        link.req_packed_command(&expire).await.map_err(to_text)?;
        let trace = self.line.find_trace(&self.queue).await.map_err(to_text)?;
        require(trace == QueueTrace::Deleted(*tombstone), || format!("{trace:?}"))
    }

    /// What follows the beginning of a generation: visitors with tokens of an earlier one get nothing.
    async fn begin_generation(&mut self) -> Check {
        self.provisional_places.clear();
        begin_streams(&mut self.link.clone(), &self.queue).await;
        self.require_lasting_keys().await?;
        for number in 1..=VISITORS {
            let (line, queue, id) = (&self.line, &self.queue, visitor(number));
            let visit = self.visits.get(&number).copied();
            let pass = Validation {
                visit,
                claims: true,
                consumes: true,
                use_id: None,
                reactivate_until_ms: Some(self.clock.now_ms() + 60_000),
            };
            let statuses = [
                match line.status(queue, id).await.map_err(to_text)? {
                    EntryLookup::NotFound(found) => Some(found),
                    EntryLookup::Found(_) => None,
                },
                match line.claim(queue, id).await.map_err(to_text)? {
                    ClaimOutcome::NotFound(found) => Some(found),
                    _ => None,
                },
                match line
                    .leave(queue, id, visit, LeaveReason::Evict)
                    .await
                    .map_err(to_text)?
                {
                    LeaveOutcome::NotFound(found) => Some(found),
                    _ => None,
                },
                match line.validate(queue, id, pass).await.map_err(to_text)? {
                    ValidateOutcome::NotFound(found) => Some(found),
                    _ => None,
                },
            ];
            let are_unknown = statuses
                .iter()
                .all(|status| matches!(status, Some(NotFound::Unknown { .. })));
            require(are_unknown, || {
                format!("the new queue knows visitor {number}: {statuses:?}")
            })?;
        }
        Ok(())
    }

    /// A process that was suspended changes nothing.
    async fn resume(&mut self, epochs_ago: u32, command: LateCommand) -> Check {
        let known = Configuration {
            epoch: self.epoch.saturating_sub(epochs_ago).max(1),
            ..self.configuration()
        };
        match command {
            LateCommand::Drop => {
                let is_dropped = self.line.drop_queue(&self.queue, known.epoch).await;
                require(!is_dropped.map_err(to_text)?, || {
                    "a late process dropped the queue".to_owned()
                })
            }
            LateCommand::Restore if known.epoch == self.epoch => {
                self.require_restore(&known, ConfigureOutcome::Unchanged).await
            }
            LateCommand::Restore => self.require_restore(&known, ConfigureOutcome::Superseded).await,
            LateCommand::Delete => self.require_late_deletion(known.epoch).await,
            LateCommand::Create => {
                let early = Configuration {
                    epoch: self.epoch + 1,
                    ..known.clone()
                };
                for (configuration, outcome) in [
                    (early, ConfigureOutcome::NeedsRestore),
                    (known, ConfigureOutcome::Superseded),
                ] {
                    if configuration.epoch != self.epoch {
                        let created = self.line.configure(&self.queue, &configuration, true).await;
                        require_outcome(&created, outcome)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// A process with a tombstone of this epoch deletes nothing.
    async fn require_late_deletion(&self, epoch: u32) -> Check {
        let tombstone = Tombstone::new(epoch - 1, self.generation, entries::now_ms());
        let is_deleted = self.line.delete_queue(&self.queue, &tombstone).await;
        require(!is_deleted.map_err(to_text)?, || {
            "a late process deleted the queue".to_owned()
        })
    }

    /// A restore with this configuration has this outcome.
    async fn require_restore(&self, configuration: &Configuration, outcome: ConfigureOutcome) -> Check {
        let nothing = RestoredEntries::default();
        let watermark = self.stored.watermark;
        require_outcome(
            &self
                .line
                .restore(&self.queue, configuration, watermark, nothing)
                .await,
            outcome,
        )
    }

    /// No key of a queue has a time to live, and no mark of a restore or of a deletion is left.
    async fn require_lasting_keys(&self) -> Check {
        let mut link = self.link.clone();
        let mortal = persist_keys(&mut link, &self.queue).await;
        require(mortal.is_empty(), || format!("{mortal:?} expire"))?;
        let keys = find_keys(&mut link, &self.queue).await;
        require(!keys.contains(&"lost") && !keys.contains(&"tombstone"), || {
            format!("the keys are {keys:?}")
        })
    }

    /// When the queue opened, which the backup stores as well.
    async fn opened_at_ms(&self) -> Result<Option<u64>, String> {
        let view = self.line.queue_view(&self.queue).await.map_err(to_text)?;
        Ok(view.configuration.opened_at_ms)
    }

    /// Drops the records of visits that began later than both clocks show. Returns whether there was none.
    fn drop_future_visits(&self, records: &mut Vec<EntryRecord>) -> bool {
        let server_ms = self.clock.as_server_clock()() / 1_000;
        let latest = Visit::latest_at(server_ms.max(self.clock.now_ms()) + FUTURE_MAX_MS);
        let count = records.len();
        records.retain(|record| record.visit() <= latest);
        records.len() == count
    }
}

fn require_outcome(answer: &Result<ConfigureOutcome, LineError>, expected: ConfigureOutcome) -> Check {
    require(matches!(answer, Ok(found) if *found == expected), || {
        format!("{answer:?} instead of {expected:?}")
    })
}
