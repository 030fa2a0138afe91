//! The operations that store something of the queue in the backup: its tally, and its watermark as the fence.

use vestibule_line::RaiseWatermarkOutcome;

use crate::{
    checked_line::{Check, CheckedLine, require, to_text},
    operations::Operation,
};

impl CheckedLine {
    /// Runs the operation. Returns which rule the answer breaks.
    pub(crate) async fn run_stored_operation(&mut self, op: &Operation) -> Check {
        match *op {
            Operation::TakeTally { every_ms, is_stored } => self.store_tally(every_ms, is_stored).await,
            Operation::RaiseWatermark { is_fence_ahead } => self.raise_watermark(is_fence_ahead).await,
            _ => unreachable!("{op:?} stores nothing"),
        }
    }

    async fn store_tally(&mut self, every_ms: u64, is_stored: bool) -> Check {
        let taken = self
            .line
            .take_tally(&self.queue, every_ms)
            .await
            .map_err(to_text)?;
        let Some(snapshot) = taken.filter(|_| is_stored) else {
            return Ok(());
        };
        let stored = self.line.acknowledge_tally(&self.queue, snapshot.version).await;
        stored.map_err(to_text)?;
        let again = self.line.take_tally(&self.queue, 0).await.map_err(to_text)?;
        self.stored.tally = snapshot.tally;
        require(again.is_none(), || {
            format!("the stored tally is taken again: {again:?}")
        })
    }

    async fn raise_watermark(&mut self, is_fence_ahead: bool) -> Check {
        let fence = self.stored.watermark + u64::from(is_fence_ahead);
        let raised = self.line.raise_watermark(&self.queue, self.epoch, fence).await;
        let raised = raised.map_err(to_text)?;
        if let RaiseWatermarkOutcome::Raised(watermark) = raised {
            self.stored.watermark = watermark;
        }
        let is_right = match raised {
            RaiseWatermarkOutcome::Raised(watermark) => watermark == fence + 1 && !is_fence_ahead,
            RaiseWatermarkOutcome::Unchanged => !is_fence_ahead,
            RaiseWatermarkOutcome::StaleLine => is_fence_ahead,
            RaiseWatermarkOutcome::OtherEpoch => false,
        };
        require(is_right, || {
            format!("{raised:?} with the fence {fence} in epoch {}", self.epoch)
        })?;
        let other = self
            .line
            .raise_watermark(&self.queue, self.epoch + 1, fence)
            .await;
        let other = other.map_err(to_text)?;
        require(other == RaiseWatermarkOutcome::OtherEpoch, || {
            format!("{other:?} in another epoch")
        })
    }
}
