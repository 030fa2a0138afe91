//! The commands `block` and `unblock`: who may not enter a queue.

use serde_json::{Map, Value, json};
use vestibule_backup::StoredQueue;
use vestibule_domain::{
    id::{EntryId, QueueId, Source},
    settings::{Block, BlockTarget, Blocks, Settings},
};
use vestibule_line::OperatorView;
use vestibule_wire::results::{BlockChange, BlockInForce, to_value};

use super::{Admin, Problem, entry::kind_needed, selectors::BlockSelector};

/// How long a source is blocked if the operator gives no time, in seconds. The address behind it may soon belong to
/// other visitors.
const SOURCE_SECONDS: u32 = 3_600;

/// The setting that these commands change.
const BLOCKED: &str = "blocked";

impl Admin {
    /// Blocks an entry until `unblock` or a source for an hour, or either for the given time.
    pub(super) async fn block(
        &self,
        queue: &QueueId,
        whom: &BlockSelector,
        for_seconds: Option<u32>,
    ) -> Result<Value, Problem> {
        let target = self.block_target(queue, whom).await?;
        let now_ms = self.now_ms(queue).await;
        let for_seconds = match target {
            BlockTarget::Source(_) => Some(for_seconds.unwrap_or(SOURCE_SECONDS)),
            BlockTarget::Entry(_) => for_seconds,
        };
        let until_ms = for_seconds.map(|seconds| now_ms + u64::from(seconds) * 1_000);
        let block = Block { target, until_ms };
        self.change_blocks(queue, target, |blocks| {
            blocks
                .with(block, now_ms)
                .map_err(|full| Problem::invalid_field(BLOCKED, full.to_string()))
        })
        .await
    }

    /// Ends the block of an entry or a source, if there is one.
    pub(super) async fn unblock(&self, queue: &QueueId, whom: &BlockSelector) -> Result<Value, Problem> {
        let now_ms = self.now_ms(queue).await;
        let target = self.find_block(queue, whom, now_ms).await?;
        self.change_blocks(queue, target, |blocks| Ok(blocks.without(target, now_ms)))
            .await
    }

    async fn change_blocks(
        &self,
        queue: &QueueId,
        target: BlockTarget,
        change: impl Fn(&Blocks) -> Result<Blocks, Problem> + Send + Sync,
    ) -> Result<Value, Problem> {
        let applied = self
            .change_switch(queue, BLOCKED, &Map::new(), |stored| {
                Ok(json!(change(&read_blocks(stored)?)?))
            })
            .await?;
        let token = match target {
            BlockTarget::Entry(id) => Some(id.to_string()),
            BlockTarget::Source(_) => None,
        };
        Ok(to_value(BlockChange {
            queue: applied.queue,
            token,
            changed: applied.changed,
            superseded: applied.superseded,
            blocked: applied.settings.blocked,
        }))
    }

    /// The block of an entry, or of the source from which its visitor came, that is in force. The log says who gave it.
    pub(super) async fn describe_block(
        &self,
        queue: &QueueId,
        stored: &StoredQueue,
        id: EntryId,
        source: Option<Source>,
    ) -> Result<Option<BlockInForce>, Problem> {
        let (blocks, now_ms) = if let Ok(OperatorView { view, .. }) = self.line.queue_view(queue).await {
            (view.configuration.settings.blocked, view.now_ms)
        } else {
            // Those that will be in force, if the stored settings are valid.
            let settings = stored.settings.parse().unwrap_or_default();
            (settings.blocked, vestibule_telemetry::clock::now_ms())
        };
        let targets = [Some(BlockTarget::Entry(id)), source.map(BlockTarget::Source)];
        let mut targets = targets.into_iter().flatten();
        let found = targets.find_map(|target| blocks.find(target, now_ms));
        let Some(block) = found else {
            return Ok(None);
        };
        let log = self.backup.read_orders(queue).await?;
        let name = match block.target {
            BlockTarget::Entry(id) => id.to_string(),
            BlockTarget::Source(source) => format!("\"{source}\""),
        };
        let order = log.orders.iter().rfind(|order| {
            order.op == "block" && (order.tokens.contains(&name) || order.arguments.contains(&name))
        });
        Ok(Some(BlockInForce {
            source: match block.target {
                BlockTarget::Source(source) => Some(source.to_string()),
                BlockTarget::Entry(_) => None,
            },
            until_ms: block.until_ms,
            by: order.and_then(|order| order.caller.clone()),
            at_ms: order.map(|order| order.at_ms),
        }))
    }

    /// The block that is to end. That of a visitor outlives the entry, so the blocks say which of two visitors is meant.
    async fn find_block(
        &self,
        queue: &QueueId,
        whom: &BlockSelector,
        now_ms: u64,
    ) -> Result<BlockTarget, Problem> {
        let BlockSelector::Entry(whom) = whom else {
            return self.block_target(queue, whom).await;
        };
        let stored = self.read_stored_queue(queue).await?;
        let ids = self.possible_ids(queue, &stored, whom).await?;
        let blocks = stored.settings.as_map().map(read_blocks).transpose()?;
        let blocks = blocks.unwrap_or_default();
        let is_blocked = |id: &&EntryId| blocks.contains(BlockTarget::Entry(**id), now_ms);
        let blocked: Vec<_> = ids.iter().filter(is_blocked).collect();
        match blocked[..] {
            [_, _] => Err(kind_needed(
                "a known and an anonymous visitor of this id are blocked",
            )),
            [id] => Ok(BlockTarget::Entry(*id)),
            _ => Ok(BlockTarget::Entry(ids[0])),
        }
    }

    async fn block_target(&self, queue: &QueueId, whom: &BlockSelector) -> Result<BlockTarget, Problem> {
        Ok(match whom {
            BlockSelector::Entry(whom) => {
                let stored = self.read_stored_queue(queue).await?;
                BlockTarget::Entry(self.entry_id(queue, &stored, whom).await?)
            }
            // It needs no salt, so it can be blocked while the backup is away.
            BlockSelector::Source(source) => BlockTarget::Source(*source),
        })
    }

    /// Line time in Unix milliseconds, or the time of this machine if the line does not answer.
    async fn now_ms(&self, queue: &QueueId) -> u64 {
        match self.line.queue_view(queue).await {
            Ok(view) => view.now_ms,
            Err(_) => vestibule_telemetry::clock::now_ms(),
        }
    }
}

/// The stored blocks. Another setting in the map may be invalid.
fn read_blocks(stored: &Map<String, Value>) -> Result<Blocks, Problem> {
    let own: Map<_, _> = stored
        .iter()
        .filter(|(name, _)| *name == BLOCKED)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let settings = Settings::from_map(&own).map_err(|error| Problem::invalid_stored_setting(&error))?;
    Ok(settings.blocked)
}
