//! Implements [`Line`] for [`RedisLine`]. Each method calls the file of its operation, and most of those
//! files send the Lua script of the same name.

use async_trait::async_trait;
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

use super::{
    RedisLine, adjust, changes, check, checked, claim, configure,
    connect::{Sender, failed},
    defer, end, enter, forget, hold, journal, leave, load, looks, mark, mend, page, promote, record, remains,
    report, rest, restore, revive, set_aside, settle, status, tick, validate, view, whole_journal,
};

#[async_trait]
impl Line for RedisLine {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        enter::enter(self, queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        status::status(self, queue, id).await
    }

    async fn looks(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<Look>, LineError> {
        looks::looks(self, queue, ids).await
    }

    async fn changes(&self, queue: &QueueId) -> Result<Changes, LineError> {
        changes::changes(self, queue).await
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        end::end(self, queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        claim::claim(self, queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        leave::leave(self, queue, id, visit, departure).await
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        validate::validate(self, queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        validate::extend(self, queue, id, extension).await
    }

    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        promote::promote(self, queue, order).await
    }

    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
        tick::take(self, queue, order).await
    }

    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError> {
        rest::rest(self, queue).await
    }

    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
        adjust::adjust(self, queue, offset_ms).await
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        report::report(self, queue, order).await
    }

    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError> {
        configure::configure(self, queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError> {
        restore::restore(self, queue, configuration, fence, places).await
    }

    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        forget::forget(self, queue, epoch).await
    }

    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        remains::remains(self, queue, most).await
    }

    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError> {
        mark::mark(self, queue, epoch, fence).await
    }

    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError> {
        revive::revive(self, queue, revival).await
    }

    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        page::page(self, queue, from).await
    }

    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
        mend::mend(self, queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError> {
        check::take(self, queue, order).await
    }

    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        checked::note(self, queue, shards).await
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        load::keep(self, queue, report).await
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        view::view(self, queue).await
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        journal::read(self, queue, most).await
    }

    async fn whole_journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        whole_journal::read(self, queue, most).await
    }

    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        record::record(self, queue, change).await
    }

    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
        defer::defer(self, queue, deferral).await
    }

    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
        set_aside::set_aside(self, queue, key).await
    }

    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        whole_journal::read_aside(self, queue, most).await
    }

    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError> {
        settle::settle(self, queue, keys, ended).await
    }

    async fn hold(&self, order: &HoldOrder<'_>) -> Result<Holding, LineError> {
        hold::hold(self, order).await
    }

    async fn release(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        hold::release(self, deployment, ids).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        let ping = async |mut link: Sender| redis::cmd("PING").query_async(&mut link).await.map_err(failed);
        self.connection.call(ping).await
    }
}
