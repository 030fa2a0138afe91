//! A Redis that lost something: all of it, or all since some time ago, or the last writes alone, as a replica that was
//! promoted may have. What is lost is taken out of it by hand. Everybody keeps the place that they were given.

mod anew;
mod came_back_old;
mod ended;
mod entered_again;
mod found_again;
mod lost;
mod missed;

use std::{sync::Arc, time::Duration};

use ::redis::aio::MultiplexedConnection;
use axum::Router;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use uuid::Uuid;
use vestibule::{
    admin::Admin,
    backup::{Backup, LinePart, Shelf, StoredQueue, file::FileBackup},
    config::Keys,
    domain::{
        id::{EntryId, QueueId, RootKey},
        record::Record,
        settings::Settings,
    },
    http::{Edge, router},
    line::{Line, PromoteOrder, View, redis::RedisLine},
    promoter::{Policy, Promoter},
};
use vestibule_tests::{
    edge::{Answer, Ask, BOUND, local, send_to, signer},
    entries::now_ms,
    lines::{Backend, HandClock, configuration, fresh_queue},
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

/// The keys of a queue.
const KEYS: [&str; 10] = [
    "waiting", "ready", "active", "ended", "sought", "config", "state", "load", "journal", "lost",
];

/// What keys hold, as Redis itself writes it down.
type Snapshot = Vec<(&'static str, Vec<u8>)>;

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
    async fn open(on: Backend, settings: Value) -> Self {
        let line = RedisLine::connect(&on.url()).await.expect("it answers");
        Self::over(line, on, settings).await
    }

    /// The same by a clock that the test sets, which begins with the right time.
    async fn by_hand(on: Backend, settings: Value) -> (Self, HandClock) {
        let clock = HandClock::new();
        clock.set_ms(now_ms());
        let line = RedisLine::connect(&on.url()).await.expect("it answers");
        let line = line
            .with_given_time(clock.as_server())
            .with_witness(clock.as_clock());
        (Self::over(line, on, settings).await, clock)
    }

    async fn over(line: RedisLine, on: Backend, mut settings: Value) -> Self {
        for (name, value) in [("capacity", 1), ("batch", 1), ("interval_seconds", 3_600)] {
            if settings.get(name).is_none() {
                settings[name] = value.into();
            }
        }
        let map = settings.as_object().expect("an object");
        let folder = tempfile::tempdir().expect("a folder");
        let backup = Arc::new(FileBackup::open(folder.path().join("store")).expect("a store"));
        let queue = fresh_queue();
        let configuration = configuration(&Settings::from_map(map).expect("settings"));
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        let stored = StoredQueue {
            settings: map.clone().into(),
            settings_order: 0,
            line: LinePart::new(configuration.salt),
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
        self.promote_most(u64::MAX).await;
    }

    /// There is a promoter, so that no call drives.
    async fn beat(&self) {
        self.promote_most(0).await;
    }

    async fn promote_most(&self, asked: u64) {
        let order = PromoteOrder {
            asked,
            heartbeat: true,
            fence: None,
        };
        self.line.promote(&self.queue, order).await.expect("promoted");
    }

    /// What the drain of a driver does.
    async fn drain(&self) {
        let until = Instant::now() + Duration::from_secs(10);
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

    /// The Redis has nothing of the queue, as after a `FLUSHALL`.
    async fn lose_everything(&self) {
        let mut pipe = ::redis::pipe();
        for key in KEYS {
            pipe.del(self.key(key)).ignore();
        }
        let done: Result<(), _> = pipe.query_async(&mut self.link.clone()).await;
        done.expect("Redis answers");
    }

    /// All that the Redis has of the queue.
    async fn snapshot(&self) -> Snapshot {
        let mut snapshot = Vec::new();
        for key in KEYS {
            let dump = ::redis::cmd("DUMP").arg(self.key(key)).clone();
            let dumped: Result<Option<Vec<u8>>, _> = dump.query_async(&mut self.link.clone()).await;
            let dumped = dumped.expect("Redis answers");
            snapshot.extend(dumped.map(|dumped| (key, dumped)));
        }
        snapshot
    }

    /// The Redis is as it was.
    async fn go_back_to(&self, snapshot: &Snapshot) {
        self.lose_everything().await;
        for (key, dumped) in snapshot {
            let restore = ::redis::cmd("RESTORE")
                .arg(self.key(key))
                .arg(0)
                .arg(dumped)
                .clone();
            let done: Result<(), _> = restore.query_async(&mut self.link.clone()).await;
            done.expect("Redis answers");
        }
    }

    /// Does something beside as many promoters.
    async fn beside_promoters<T>(&self, many: usize, work: impl Future<Output = T>) -> T {
        let (stop, stopped) = watch::channel(());
        let promoters: Vec<_> = (0..many)
            .map(|_| {
                let (line, backup) = (Arc::new(self.line.clone()), self.backup.clone());
                let promoter = Arc::new(Promoter::new(line, backup, Policy::default()));
                let mut stopped = stopped.clone();
                tokio::spawn(async move {
                    let until = async move { drop(stopped.changed().await) };
                    promoter.run(until).await;
                })
            })
            .collect();
        let done = work.await;
        drop(stop);
        for promoter in promoters {
            promoter.await.expect("it does not panic");
        }
        done
    }

    /// What the backup has of the queue.
    async fn stored(&self) -> StoredQueue {
        let stored = self.backup.queue(&self.queue).await;
        stored.expect("an answer").expect("is there")
    }

    async fn view(&self) -> View {
        self.line.view(&self.queue).await.expect("the line has it")
    }

    /// An operator's order that is carried out.
    async fn order(&self, order: Value) -> Value {
        let admin = Admin {
            line: Arc::new(self.line.clone()),
            backup: self.backup.clone(),
            root_key: RootKey::new(vec![7; 32]).expect("long enough"),
            policy: Policy::default(),
        };
        let mut answer = admin.answer(order.clone()).await;
        assert_eq!(answer["ok"], true, "{order}: {answer}");
        answer["result"].take()
    }

    fn shelf(&self) -> Shelf {
        Shelf {
            queue: self.queue.clone(),
            generation: 1,
            retain_hours: 24,
            grace_seconds: 600,
        }
    }

    async fn record(&self, guest: &Guest) -> Record {
        self.record_of(guest.entry()).await
    }

    async fn record_of(&self, id: EntryId) -> Record {
        let record = self.backup.entry(&self.shelf(), id).await;
        record.expect("an answer").expect("a record")
    }

    /// The epoch of the line, where it has the queue.
    async fn line_epoch(&self) -> Option<u32> {
        let view = self.line.view(&self.queue).await.ok()?;
        Some(view.version.epoch)
    }

    /// The answer once nobody is told to come again.
    async fn settled_answer(&self, ask: impl Fn() -> Ask) -> Answer {
        let end = Instant::now() + BOUND;
        loop {
            let answer = self.send(ask()).await;
            if answer.status != 503 {
                return answer;
            }
            assert!(Instant::now() < end, "{answer:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    async fn settled(&self, guest: &Guest) -> Answer {
        self.settled_answer(|| Ask::get(self.path(guest)).visitor(&guest.id))
            .await
    }

    fn service(&self, guest: &Guest, what: &str, body: &Value) -> Ask {
        Ask::post(format!("{}/{what}", self.path(guest))).json(body)
    }
}

/// Waits until something is so.
async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let end = Instant::now() + BOUND;
    while !is_so().await {
        assert!(Instant::now() < end, "in {BOUND:?} it was never so: {what}");
        sleep(Duration::from_millis(20)).await;
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
        a_visit_of_before_that_the_redis_remembers_ends_nobodys_place
    }
    entered_again {
        the_old_place_and_not_a_new_one_at_the_end
        nobody_slips_in_because_everybody_was_forgotten
        killed_before_the_new_place_was_written
        two_enter_at_once
        after_an_end_it_is_a_new_place_whoever_knows_of_the_end
        after_a_session_that_ran_out_it_is_a_new_place
        moving_to_the_back_still_does
        an_end_that_the_redis_forgot_is_no_way_back_in
    }
    ended {
        who_left_and_enters_again_is_at_the_back
        who_left_and_enters_by_a_clock_that_is_behind_is_at_the_back
        who_was_done_is_gone_and_the_slot_is_free
        who_was_called_and_is_gone_is_not_called_any_more
        who_was_called_and_came_and_was_done_does_not_come_twice
        who_left_and_is_called_all_the_same_makes_way_at_the_next_drain
        a_new_session_of_the_number_of_one_that_is_over_goes_on
        a_new_turn_of_the_number_of_one_that_is_over_may_be_claimed
    }
    lost {
        everybody_is_where_they_were_and_the_line_moves_on
        of_many_who_put_it_back_one_does
        a_restorer_that_died_is_waited_for_and_no_longer
        what_was_written_too_late_to_be_read_is_found
        what_the_backup_did_not_have_yet_is_salvaged
    }
    missed {
        a_redis_that_forgot_who_came_back_hears_of_it
        a_redis_that_still_has_the_turn_ends_nothing
        a_redis_that_was_lost_has_those_who_came_back_and_those_who_may
        a_come_back_that_a_killed_process_began_is_finished_by_the_check
    }
    came_back_old {
        what_happened_since_then_is_not_undone
        nobody_is_promoted_by_an_order_that_is_old
        nor_do_calls_drive_it
        a_line_that_was_not_lost_is_not_put_back
    }
    anew {
        a_reset_begins_anew_and_nothing_of_before_counts
        a_reset_that_is_cut_short_is_finished_by_the_promoter
        a_restore_by_hand_keeps_everybody_and_wants_to_be_confirmed
        a_pass_of_before_a_restore_lets_in_who_had_been_let_in
    }
}
