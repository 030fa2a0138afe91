//! A Redis that missed the last writes, as a replica that was promoted may have: what it forgot is taken out of it by hand,
//! and the journal with it. Nobody notices: everybody keeps the place that they were given.

mod entered_again;
mod found_again;

use std::sync::Arc;

use ::redis::aio::MultiplexedConnection;
use axum::Router;
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;
use vestibule::{
    backup::{Backup, LinePart, Shelf, StoredQueue, file::FileBackup},
    config::Keys,
    domain::{
        id::{EntryId, QueueId, RootKey, Salt},
        record::Record,
        settings::Settings,
    },
    http::{Edge, router},
    line::{Line, PromoteOrder, redis::RedisLine},
};
use vestibule_tests::{
    edge::{Answer, Ask, local, send_to, signer},
    lines::{Backend, configuration, fresh_queue},
};

/// Two processes over one Redis and one backup.
struct Scene {
    queue: QueueId,
    line: RedisLine,
    backup: Arc<FileBackup>,
    routers: [Router; 2],
    link: MultiplexedConnection,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

/// A visitor who has entered.
#[derive(Debug, Clone)]
struct Guest {
    id: String,
    token: String,
}

impl Guest {
    fn member(&self) -> String {
        self.entry().to_member()
    }

    fn entry(&self) -> EntryId {
        self.token.parse().expect("a token")
    }
}

impl Scene {
    /// One at a time goes in, once in an hour: who comes second waits.
    async fn open(on: Backend, mut settings: Value) -> Self {
        for (name, value) in [("capacity", 1), ("batch", 1), ("interval_seconds", 3_600)] {
            if settings.get(name).is_none() {
                settings[name] = value.into();
            }
        }
        let map = settings.as_object().expect("an object");
        let folder = tempfile::tempdir().expect("a folder");
        let backup = Arc::new(FileBackup::open(folder.path().join("store")).expect("a store"));
        let line = RedisLine::connect(&on.url()).await.expect("it answers");
        let queue = fresh_queue();
        let configuration = configuration(&Settings::from_map(map).expect("settings"));
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        let stored = StoredQueue {
            settings: map.clone().into(),
            settings_order: 0,
            line: LinePart {
                epoch: configuration.epoch,
                generation: configuration.generation,
                salt: Salt::new([7; 32]),
            },
        };
        assert!(backup.create_queue(&queue, &stored).await.expect("created"));
        let (stop, stopped) = watch::channel(false);
        let process = || {
            let keys = Keys {
                root: RootKey::new(vec![7; 32]).expect("long enough"),
                signer: signer(),
            };
            router(Edge::new(
                Arc::new(line.clone()),
                backup.clone(),
                keys,
                local(),
                stopped.clone(),
            ))
        };
        let routers = [process(), process()];
        let link = on.link_to(&queue).await;
        Self {
            queue,
            line,
            backup,
            routers,
            link,
            _stop: stop,
            _folder: folder,
        }
    }

    async fn send(&self, ask: Ask) -> Answer {
        send_to(&self.routers[0], ask).await
    }

    fn path(&self, guest: &Guest) -> String {
        format!("/queues/{}/entries/{}", self.queue, guest.token)
    }

    async fn enters_as(&self, id: &str) -> (Guest, Answer) {
        let ask = Ask::post(format!("/queues/{}/entries", self.queue)).visitor(id);
        let answer = self.send(ask).await;
        let token = answer.text("token").to_owned();
        let guest = Guest {
            id: id.to_owned(),
            token,
        };
        (guest, answer)
    }

    /// So many enter, one after the other, and stand in this order; the first goes in at once.
    async fn guests(&self, many: usize) -> Vec<Guest> {
        let mut guests = Vec::new();
        for _ in 0..many {
            let (guest, answer) = self.enters_as(&Uuid::new_v4().to_string()).await;
            answer.is(201);
            guests.push(guest);
        }
        guests
    }

    async fn status(&self, guest: &Guest) -> Answer {
        self.send(Ask::get(self.path(guest)).visitor(&guest.id)).await
    }

    /// The positions of these.
    async fn positions(&self, guests: &[Guest]) -> Vec<u64> {
        let mut positions = Vec::new();
        for guest in guests {
            positions.push(self.status(guest).await.is(200).number("position"));
        }
        positions
    }

    async fn promote(&self) {
        let order = PromoteOrder {
            asked: u64::MAX,
            heartbeat: true,
        };
        self.line.promote(&self.queue, order).await.expect("promoted");
    }

    /// What the drain of a driver does.
    async fn drain(&self) {
        let until = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
        vestibule::backup::drain::drain(&self.line, &*self.backup, &self.shelf(), 100, until)
            .await
            .expect("drained");
    }

    fn key(&self, name: &str) -> String {
        format!("vestibule:{{{}}}:{name}", self.queue)
    }

    /// The Redis never heard of these visits, nor wrote anything down of them.
    async fn forget(&self, guests: &[Guest]) {
        let mut pipe = ::redis::pipe();
        for guest in guests {
            for set in ["waiting", "ready", "active"] {
                pipe.zrem(self.key(set), guest.member()).ignore();
            }
            pipe.hdel(self.key("ended"), guest.member()).ignore();
        }
        pipe.del(self.key("journal")).ignore();
        let done: Result<(), _> = pipe.query_async(&mut self.link.clone()).await;
        done.expect("Redis answers");
    }

    fn shelf(&self) -> Shelf {
        Shelf {
            queue: self.queue.clone(),
            generation: 1,
            retain_hours: 24,
        }
    }

    async fn record(&self, guest: &Guest) -> Record {
        let record = self.backup.entry(&self.shelf(), guest.entry()).await;
        record.expect("an answer").expect("a record")
    }

    fn service(&self, guest: &Guest, what: &str, body: &Value) -> Ask {
        Ask::post(format!("{}/{what}", self.path(guest))).json(body)
    }
}

/// No settings but those of every scene.
fn usual() -> Value {
    json!({})
}

/// Makes of each case one test for a server and one for a cluster.
macro_rules! on_each {
    ($($topic:ident { $($case:ident)* })*) => {
        mod redis {
            $($(#[tokio::test] async fn $case() { super::$topic::$case(super::Backend::Redis).await; })*)*
        }
        mod cluster {
            $($(#[tokio::test] async fn $case() { super::$topic::$case(super::Backend::Cluster).await; })*)*
        }
    };
}

on_each! {
    found_again {
        a_forgotten_place_is_where_it_was
        a_forgotten_one_may_leave_and_nobody_brings_them_back
        a_forgotten_turn_can_be_claimed
        whoever_was_let_in_and_forgotten_may_act_until_the_same_end
        a_held_poll_ends_with_the_place_it_began_with
        one_that_ended_is_gone_though_the_backup_does_not_know_yet
        many_ask_at_once_for_a_forgotten_one
        a_process_killed_while_it_puts_one_back_leaves_nothing_behind
    }
    entered_again {
        the_old_place_and_not_a_new_one_at_the_end
        nobody_slips_in_because_everybody_was_forgotten
        killed_before_the_new_place_was_written
        two_enter_at_once
        after_an_end_it_is_a_new_place_whoever_knows_of_the_end
        after_a_session_that_ran_out_it_is_a_new_place
        moving_to_the_back_still_does
    }
}
