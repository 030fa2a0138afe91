//! A queue with one entry in a chosen state.

use serde_json::json;
use vestibule_api::config::{ApiConfig, VisitorRequests};
use vestibule_backup::Backup;
use vestibule_domain::id::EntryId;
use vestibule_engine::deletion::delete_queue;
use vestibule_line::LeaveReason;
use vestibule_tests::{
    api::Guest,
    in_process::{ApiRequest, InProcessApi, QUEUE, anonymous_visitor, local_config, queue_id},
};

use super::super::{enter_and_expect_created, enter_silently};

/// Other visitors in line, so that a cost that grows with the line is seen.
const OTHERS: usize = 3;
/// How long the line remembers an end, with a margin, in seconds.
const END_FORGOTTEN_SECONDS: u64 = 60;

/// The state of the entry that a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// No visitor has entered with it.
    NeverExisted,
    /// It waits.
    Waiting,
    /// It may claim.
    Ready,
    /// It has a pass.
    Active,
    /// It has just ended.
    Ended,
    /// It has just ended, and the request that ended it was killed before it wrote that to the table.
    EndedUnwritten,
    /// It ended, and the line does not remember that any more.
    EndedLongAgo,
    /// It waits, and the line lost it.
    Lost,
}

impl Entry {
    pub(super) const ALL: [Self; 8] = [
        Self::NeverExisted,
        Self::Waiting,
        Self::Ready,
        Self::Active,
        Self::Ended,
        Self::EndedUnwritten,
        Self::EndedLongAgo,
        Self::Lost,
    ];

    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::NeverExisted => "none",
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Active => "active",
            Self::Ended => "ended just now",
            Self::EndedUnwritten => "ended just now, not written",
            Self::EndedLongAgo => "ended",
            Self::Lost => "lost by the line",
        }
    }
}

/// A queue with an entry.
pub(super) struct Scene {
    pub(super) api: InProcessApi,
    pub(super) guest: Guest,
}

impl Scene {
    pub(super) async fn start(entry: Entry) -> Self {
        let fast_track = entry == Entry::Active;
        let config = ApiConfig {
            visitor_requests: VisitorRequests::default(),
            ..local_config()
        };
        let settings = json!({ "fast_track": fast_track, "session_seconds": 600 });
        let mut api = InProcessApi::start_with_config(config.clone(), settings).await;
        let (guest, _) = match entry {
            Entry::Ready => enter_and_expect_created(&api).await,
            _ => enter_silently(&api).await,
        };
        for _ in 0..OTHERS {
            enter_and_expect_created(&api).await;
        }
        let id: EntryId = guest.token.parse().expect("a token");
        match entry {
            Entry::Waiting | Entry::Active | Entry::NeverExisted => {}
            Entry::Ready => assert!(api.promote().await.promoted > 0),
            Entry::Ended => drop(api.send(guest.leave()).await.expect_status(204)),
            Entry::EndedUnwritten => {
                api.line
                    .leave(&queue_id(), id, None, LeaveReason::Leave)
                    .await
                    .expect("ended");
            }
            Entry::EndedLongAgo => {
                api.send(guest.leave()).await.expect_status(204);
                api.advance_seconds(END_FORGOTTEN_SECONDS);
                api.promote().await;
            }
            Entry::Lost => api.lose_entry(id).await,
        }
        let guest = if entry == Entry::NeverExisted {
            let (id, entry) = anonymous_visitor(7);
            Guest {
                queue: QUEUE.to_owned(),
                id,
                token: entry.to_string(),
                visit: 1,
            }
        } else {
            guest
        };
        // A process that has the queue with its whole line in its cache.
        api.drop_shared_view().await;
        api.router = api.start_second_process(config);
        api.send(ApiRequest::get(format!("/queues/{QUEUE}")))
            .await
            .expect_status(200);
        Self { api, guest }
    }

    pub(super) fn id(&self) -> EntryId {
        self.guest.token.parse().expect("a token")
    }

    pub(super) async fn delete_queue(&self) {
        let stored = self
            .api
            .backup
            .read_queue(&queue_id())
            .await
            .expect("read")
            .expect("is there");
        let deleted = delete_queue(&self.api.line, &*self.api.backup, &queue_id(), &stored.metadata).await;
        deleted.expect("deleted").expect("of this epoch");
    }
}
