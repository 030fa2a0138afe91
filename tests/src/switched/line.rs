//! The line behind a switch: every call asks the switch first.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::sleep;
use vestibule_domain::{
    change::{Change, Ending},
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};
use vestibule_line::{
    Adjusted, Changes, Check, CheckOrder, CheckTurn, Claimed, Configuration, Configured, Cursor, Deferral,
    Departed, Departure, Entered, Extended, Extension, HoldOrder, Holding, JournalRecord, Line, LineError,
    Look, Marked, Mended, Mending, Page, Places, PromoteOrder, Promotion, Remains, ReportOrder, Reported,
    Revival, Revived, SetAside, TickOrder, Validated, View,
};

use super::Switch;

pub(super) struct Switched {
    pub(super) line: Arc<dyn Line>,
    pub(super) switch: Switch,
}

impl Switched {
    fn reach(&self) -> Result<&dyn Line, LineError> {
        if self.switch.is_off.load(Ordering::SeqCst) {
            self.switch.tries.fetch_add(1, Ordering::SeqCst);
            return Err(LineError::Unavailable("turned off by a test".to_owned()));
        }
        Ok(&*self.line)
    }
}

#[async_trait]
impl Line for Switched {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        self.reach()?.enter(queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        let look = self.reach()?.status(queue, id).await;
        self.switch.looking.pass().await;
        look
    }

    async fn looks(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<Look>, LineError> {
        self.switch.looks.fetch_add(1, Ordering::SeqCst);
        if self.switch.is_stumbling.swap(false, Ordering::SeqCst) {
            return Err(LineError::Unavailable("slow once, for a test".to_owned()));
        }
        self.reach()?.looks(queue, ids).await
    }

    async fn changes(&self, queue: &QueueId) -> Result<Changes, LineError> {
        self.switch.listening.pass().await;
        if self.switch.is_deaf.load(Ordering::SeqCst) {
            return Err(LineError::Unavailable("made deaf by a test".to_owned()));
        }
        self.reach()?.changes(queue).await
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.reach()?.end(queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        self.reach()?.claim(queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        self.reach()?.leave(queue, id, visit, departure).await
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        self.reach()?.validate(queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        self.reach()?.extend(queue, id, extension).await
    }

    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        self.reach()?.promote(queue, order).await
    }

    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
        let line = self.reach()?;
        if !self.switch.calls_drive.load(Ordering::SeqCst) {
            return Ok(false);
        }
        self.switch.offers.fetch_add(1, Ordering::SeqCst);
        line.take_tick(queue, order).await
    }

    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.reach()?.rest(queue).await
    }

    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
        self.reach()?.adjust(queue, offset_ms).await
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        self.reach()?.report(queue, order).await
    }

    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError> {
        self.reach()?.configure(queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError> {
        self.reach()?.restore(queue, configuration, fence, places).await
    }

    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        self.reach()?.forget(queue, epoch).await
    }

    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        self.reach()?.remains(queue, most).await
    }

    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError> {
        self.reach()?.mark(queue, epoch, fence).await
    }

    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError> {
        self.reach()?.revive(queue, revival).await
    }

    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.reach()?.page(queue, from).await
    }

    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
        self.reach()?.mend(queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError> {
        self.reach()?.take_check(queue, order).await
    }

    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.reach()?.note_check(queue, shards).await
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.reach()?.keep_load(queue, report).await
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        let frozen = self.switch.frozen().clone();
        match frozen {
            Some(view) => Ok(view),
            None => self.reach()?.view(queue).await,
        }
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.journal(queue, most).await
    }

    async fn whole_journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.whole_journal(queue, most).await
    }

    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        self.reach()?.record(queue, change).await
    }

    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
        self.reach()?.defer(queue, deferral).await
    }

    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
        self.reach()?.set_aside(queue, key).await
    }

    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.aside(queue, most).await
    }

    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError> {
        self.reach()?.settle(queue, keys, ended).await
    }

    async fn hold(&self, order: &HoldOrder<'_>) -> Result<Holding, LineError> {
        let taking = Duration::from_millis(self.switch.holds_take_ms.load(Ordering::SeqCst));
        sleep(taking).await;
        if self.switch.counts_no_holds.load(Ordering::SeqCst) {
            return Err(LineError::Unavailable("turned off by a test".to_owned()));
        }
        self.reach()?.hold(order).await
    }

    async fn release(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        self.switch.releases.fetch_add(1, Ordering::SeqCst);
        let taking = Duration::from_millis(self.switch.releases_take_ms.load(Ordering::SeqCst));
        sleep(taking).await;
        self.reach()?.release(deployment, ids).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.reach()?.ping().await
    }
}
