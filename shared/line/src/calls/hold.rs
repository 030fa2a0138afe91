//! Counts held polls in and out: sends `take_hold.lua` and `release_holds.lua`.

use vestibule_domain::{id::EntryId, poll_pacing::HOLD_LEASE_MAX_MS};

use super::{Line, keys::holds_key, script::script};
use crate::{HoldOrder, HoldOutcome, LineError};

script!(TAKE_HOLD, "presence/take_hold");
script!(RELEASE_HOLDS, "presence/release_holds");

/// The most entries that one call releases, because Lua's `unpack` takes a limited number of values.
const RELEASE_CHUNK: usize = 1_000;

impl Line {
    /// Counts one more held poll if the whole deployment holds fewer polls than the limits of the order.
    pub async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
        let call = TAKE_HOLD
            .call_with_keys([holds_key(order.deployment)])
            .arg(self.given_us())
            .arg(order.id.to_member())
            .arg(order.below)
            .arg(order.lease_ms)
            .arg(HOLD_LEASE_MAX_MS)
            .arg(
                order
                    .unknown_speed_below
                    .map_or_else(String::new, |below| below.to_string()),
            );
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "counted" => Ok(HoldOutcome::Counted {
                held: reply.read_number()?,
            }),
            "full" => Ok(HoldOutcome::Full),
            "already-held" => Ok(HoldOutcome::AlreadyHeld),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}

impl Line {
    /// Stops counting the held polls of these entries. An entry without a counted poll changes nothing.
    pub async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        for ids in ids.chunks(RELEASE_CHUNK) {
            let members = ids.iter().map(|id| id.to_member());
            let call = RELEASE_HOLDS
                .call_with_keys([holds_key(deployment)])
                .args(members);
            call.send(self).await?;
        }
        Ok(())
    }
}
