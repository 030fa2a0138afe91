//! The same queue twice: in memory and in Redis, by the same clock.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use redis::aio::MultiplexedConnection;
use vestibule::{
    domain::{
        change::{Change, End, Event, Version},
        id::{EntryId, QueueId},
        record::Record,
        score::{Visit, WaitScore},
        settings::Settings,
        standing::Standing,
    },
    line::{
        Check, Extension, HoldOrder, Instead, JournalLimits, JournalRecord, Line, Look, Mending,
        PromoteOrder, ReportOrder, Revival, Revived,
        memory::{MemoryLine, Snapshot},
        redis::RedisLine,
    },
};
use vestibule_tests::lines::{HandClock, configuration, visitor};

use crate::{
    journal,
    ops::{Named, Op},
};

/// More than a sequence can write.
pub(crate) const WHOLE_JOURNAL: usize = 1_000;
/// Low enough to be met now and then.
const LIMITS: JournalLimits = JournalLimits {
    newcomers: 14,
    all: 16,
    aside: 2,
};

pub(crate) struct Pair {
    pub(crate) memory: MemoryLine,
    redis: RedisLine,
    /// Looks into Redis past the line under test.
    link: MultiplexedConnection,
    pub(crate) clock: HandClock,
    pub(crate) queue: QueueId,
    settings: Settings,
    /// The visit that each visitor was last seen in.
    visits: BTreeMap<u64, Visit>,
    /// The place that each visitor was given, but the last one where they had two, with the version of that.
    places: BTreeMap<u64, VecDeque<(WaitScore, Version)>>,
}

/// What an operation is given, made of what stands before either line is asked.
pub(crate) struct Made {
    pub(crate) record: Option<Change>,
    pub(crate) mending: Option<Mending>,
}

impl Pair {
    pub(crate) async fn new(redis: RedisLine, link: MultiplexedConnection, queue: QueueId) -> Self {
        let clock = HandClock::new();
        let pair = Self {
            memory: MemoryLine::with_clock(clock.as_server())
                .with_witness(clock.as_clock())
                .with_journal_limits(LIMITS),
            redis: redis
                .with_given_time(clock.as_server())
                .with_witness(clock.as_clock())
                .with_journal_limits(LIMITS),
            link,
            clock,
            queue,
            settings: Settings {
                capacity: 3,
                batch: 2,
                interval_seconds: 5,
                claim_seconds: 20,
                session_seconds: 40,
                ..Settings::default()
            },
            visits: BTreeMap::new(),
            places: BTreeMap::new(),
        };
        for line in pair.lines() {
            let created = line
                .configure(&pair.queue, &configuration(&pair.settings), true)
                .await;
            created.expect("configure");
        }
        pair
    }

    fn lines(&self) -> [&dyn Line; 2] {
        [&self.memory, &self.redis]
    }

    /// Takes a step on both lines; says where answers or states differ after it.
    pub(crate) async fn step(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::PassMicros(micros) => self.clock.pass(Duration::from_micros(*micros)),
            Op::GoBackMicros(micros) => self.clock.go_back(Duration::from_micros(*micros)),
            Op::ServerOffMillis(ms) => self.clock.set_server_off(*ms),
            Op::Set(setting) => setting.apply(&mut self.settings),
            _ => {}
        }
        self.note_visits().await;
        let [memory, redis] = self.lines();
        let made = Made {
            record: self.change_to_record(op).await,
            mending: self.mending(op).await,
        };
        let (in_memory, in_redis) = (
            self.act(memory, op, &made).await,
            self.act(redis, op, &made).await,
        );
        same("answers", &in_memory, &in_redis)?;
        match op {
            // Nobody was called: there is nothing to compare but line time.
            Op::PassMicros(_) | Op::GoBackMicros(_) | Op::ServerOffMillis(_) => self.compare_views().await,
            Op::Set(_) | Op::Load(_) | Op::Adjust { .. } => {
                self.compare_views().await?;
                self.compare_states().await
            }
            _ => self.compare_states().await,
        }
    }

    async fn note_visits(&mut self) {
        for number in 1..=crate::ops::VISITORS {
            let look = self.memory.status(&self.queue, visitor(number)).await;
            if let Look::Here(standing) = look.expect("status") {
                self.visits.insert(number, standing.visit());
                if let Standing::Waiting { score, .. } = standing {
                    let version = self.memory.view(&self.queue).await.expect("view").version;
                    let places = self.places.entry(number).or_default();
                    if places.back().is_none_or(|(last, _)| *last != score) {
                        places.push_back((score, version));
                    }
                    if places.len() > 2 {
                        places.pop_front();
                    }
                }
            }
        }
    }

    fn visit(&self, number: u64, named: Named) -> Option<Visit> {
        let right = self.visits.get(&number).map_or(0, |visit| visit.number().into());
        match named {
            Named::Any => None,
            Named::Right => Visit::new(right),
            Named::Wrong => Visit::new((right + 1) % 4096),
        }
    }

    /// Polls are counted in and out, as of a deployment of the queue's name.
    async fn count_holds(&self, line: &dyn Line, op: &Op) -> String {
        let deployment = self.queue.as_str();
        match op {
            Op::Hold {
                visitor: number,
                below,
                lease_ms,
            } => {
                let order = HoldOrder {
                    deployment,
                    id: visitor(*number),
                    below: *below,
                    lease_ms: *lease_ms,
                };
                text(line.hold(&order).await)
            }
            Op::Release(numbers) => {
                let ids: Vec<_> = numbers.iter().copied().map(visitor).collect();
                text(line.release(deployment, &ids).await)
            }
            _ => unreachable!("{op:?} is about no poll"),
        }
    }

    /// Does it, and gives the answer as text: it says all that the answer holds.
    async fn act(&self, line: &dyn Line, op: &Op, made: &Made) -> String {
        let queue = &self.queue;
        match op {
            Op::Enter(number) => text(line.enter(queue, visitor(*number)).await),
            Op::Status(number) => text(line.status(queue, visitor(*number)).await),
            Op::Promote { asked, heartbeat } => {
                let order = PromoteOrder {
                    asked: *asked,
                    heartbeat: *heartbeat,
                    fence: None,
                };
                text(line.promote(queue, order).await)
            }
            Op::TakeTick(order) => text(line.take_tick(queue, *order).await),
            Op::Rest => text(line.rest(queue).await),
            Op::Claim(number) => text(line.claim(queue, visitor(*number)).await),
            Op::Leave(number, named, departure) => {
                let visit = self.visit(*number, *named);
                text(line.leave(queue, visitor(*number), visit, *departure).await)
            }
            Op::Validate {
                visitor: number,
                visit,
                claims,
                consumes,
            } => {
                let check = Check {
                    visit: self.visit(*number, *visit),
                    claims: *claims,
                    consumes: *consumes,
                    let_in_until_ms: None,
                };
                text(line.validate(queue, visitor(*number), check).await)
            }
            Op::Extend {
                visitor: number,
                visit,
                seconds,
                latest_end_ms_from_now,
            } => {
                let extension = Extension {
                    visit: self.visit(*number, *visit),
                    seconds: *seconds,
                    latest_end_ms: self.clock.now_ms().saturating_add_signed(*latest_end_ms_from_now),
                };
                text(line.extend(queue, visitor(*number), extension).await)
            }
            Op::Revive {
                visitor: number,
                state,
                sought,
                instead,
            } => {
                let Some(record) = self.old_record(*number, *state) else {
                    return String::new();
                };
                let mut revival = Revival {
                    record,
                    generation: 1,
                    instead: if *instead {
                        Instead::Place(self.visit(*number, Named::Right).expect("named"))
                    } else {
                        Instead::Nothing
                    },
                };
                let first = line.revive(queue, &revival).await;
                let mark = match &first {
                    Ok(Revived::Sought(mark)) if *sought => *mark,
                    _ => return text(first),
                };
                revival.instead = Instead::Sought(mark);
                text((mark, line.revive(queue, &revival).await))
            }
            Op::Settle { .. } | Op::Record(..) | Op::Defer { .. } | Op::SetAside(_) | Op::SettleAside(_) => {
                journal::act(line, queue, op, made.record.as_ref()).await
            }
            Op::Pages | Op::Mend { .. } | Op::TakeCheck(_) | Op::NoteCheck(_) => {
                self.check(line, op, made).await
            }
            Op::Hold { .. } | Op::Release(_) => self.count_holds(line, op).await,
            Op::Load(report) => text(line.keep_load(queue, report).await),
            Op::PassMicros(_) | Op::GoBackMicros(_) | Op::ServerOffMillis(_) => String::new(),
            Op::Adjust { beside_ms } => {
                let clocks = line.view(queue).await.expect("a view").clocks;
                text(line.adjust(queue, clocks.wanted_offset_ms() + beside_ms).await)
            }
            Op::Report { every_ms, idle_ms } => {
                let order = ReportOrder {
                    every_ms: *every_ms,
                    idle_ms: *idle_ms,
                };
                text(line.report(queue, order).await)
            }
            Op::Set(_) => text(line.configure(queue, &configuration(&self.settings), false).await),
        }
    }

    /// What the backup may have of a place that the visitor had, in each state that is live.
    pub(crate) fn old_record(&self, number: u64, state: usize) -> Option<Record> {
        let (score, version) = *self.places.get(&number)?.front()?;
        let deadline_ms = score.joined_at_ms() + 45_000;
        let (id, visit) = (visitor(number), score.visit());
        let events = [
            Event::Entered { score },
            Event::Promoted {
                score,
                claim_by_ms: deadline_ms,
            },
            Event::FastTracked {
                score,
                session_end_ms: deadline_ms,
            },
        ];
        let event = events[state];
        assert_eq!(event.visit(), visit);
        let at_ms = score.joined_at_ms();
        Record::after(
            None,
            &Change {
                id,
                version,
                at_ms,
                event,
            },
            24,
        )
    }

    /// A change of each kind, of the visit that the visitor was last seen in.
    async fn change_to_record(&self, op: &Op) -> Option<Change> {
        let Op::Record(number, kind) = op else { return None };
        let view = self.memory.view(&self.queue).await.expect("view");
        let visit = self.visit(*number, Named::Right).expect("named");
        let score = WaitScore::next(0, view.now_ms);
        let session_end_ms = view.now_ms + 1;
        let kinds = [
            Event::Entered { score },
            Event::FastTracked {
                score,
                session_end_ms,
            },
            Event::Promoted {
                score,
                claim_by_ms: session_end_ms,
            },
            Event::Claimed {
                visit,
                session_end_ms,
            },
            Event::Extended {
                visit,
                session_end_ms,
            },
            Event::Ended {
                visit,
                how: End::Completed,
            },
            Event::Ended {
                visit,
                how: End::Left,
            },
            Event::Ended {
                visit,
                how: End::Expired,
            },
            Event::StillReady {
                visit,
                claim_by_ms: session_end_ms,
            },
        ];
        Some(Change {
            id: visitor(*number),
            version: view.version,
            at_ms: view.now_ms,
            event: kinds[*kind],
        })
    }

    async fn compare_states(&self) -> Result<(), String> {
        let (raw, journal) = tokio::join!(self.raw(), self.redis.journal(&self.queue, WHOLE_JOURNAL));
        let snapshot = self.memory.snapshot(&self.queue).expect("snapshot");
        same("sets and state", &snapshot, &raw)?;
        let in_memory = self.memory.journal(&self.queue, WHOLE_JOURNAL).await;
        same(
            "journals",
            &comparable(in_memory.expect("journal"))?,
            &comparable(journal.map_err(text)?)?,
        )?;
        let [in_memory, in_redis] = self.lines().map(|line| line.aside(&self.queue, WHOLE_JOURNAL));
        same(
            "records set aside",
            &comparable(in_memory.await.expect("read"))?,
            &comparable(in_redis.await.map_err(text)?)?,
        )
    }

    async fn compare_views(&self) -> Result<(), String> {
        let [in_memory, in_redis] = self.lines().map(|line| line.view(&self.queue));
        same(
            "views",
            &in_memory.await.map_err(text)?,
            &in_redis.await.map_err(text)?,
        )?;
        let ids: Vec<_> = (1..=crate::ops::VISITORS).map(visitor).collect();
        let [in_memory, in_redis] = self.lines().map(|line| line.looks(&self.queue, &ids));
        same(
            "looks at all",
            &in_memory.await.map_err(text)?,
            &in_redis.await.map_err(text)?,
        )
    }

    /// What Redis holds, by the keys of the design and plain commands.
    async fn raw(&self) -> Snapshot {
        type Scored = Vec<(String, f64)>;
        let key = |name: &str| format!("vestibule:{{{}}}:{name}", self.queue);
        let mut pipe = redis::pipe();
        for name in ["waiting", "ready", "active"] {
            pipe.zrange_withscores(key(name), 0, -1);
        }
        let pipe = pipe.hgetall(key("ended")).hgetall(key("state"));
        let answer = pipe.query_async(&mut self.link.clone()).await;
        let (waiting, ready, active, ended, state): (
            Scored,
            Scored,
            Scored,
            BTreeMap<String, String>,
            BTreeMap<String, String>,
        ) = answer.expect("Redis answers");
        let mut ended: Vec<_> = ended
            .iter()
            .map(|(member, v)| (entry(member), v.clone()))
            .collect();
        ended.sort_unstable();
        // Redis orders members of one score by the text that stands for them, memory by id.
        let scored = |entries: Scored| {
            let mut entries: Vec<_> = entries
                .iter()
                .map(|(member, score)| (entry(member), exact(*score)))
                .collect();
            entries.sort_by_key(|(id, score)| (*score, *id));
            entries
        };
        Snapshot {
            waiting: scored(waiting),
            ready: scored(ready),
            active: scored(active),
            ended,
            state: state
                .into_iter()
                // What enter.lua needs of the configuration: the answers to entering tell whether it is right.
                .filter(|(name, _)| !["epoch", "entrance", "re_entry", "paused"].contains(&name.as_str()))
                .map(|(name, number)| {
                    let number = number.parse().unwrap_or_else(|_| panic!("{name} is {number}"));
                    (name, number)
                })
                .collect(),
        }
    }
}

fn entry(member: &str) -> EntryId {
    EntryId::from_member(member).expect("a member")
}

fn exact(score: f64) -> u64 {
    assert!(
        score.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&score),
        "{score}"
    );
    // What was just asserted makes the cast exact.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let score = score as u64;
    score
}

/// The changes of a record, how often they were refused, and when they are due again.
type Comparable = (Vec<Change>, u32, u64);

/// A journal without its keys, which every line makes up by itself; within a record the order means nothing.
fn comparable(journal: Vec<JournalRecord>) -> Result<Vec<Comparable>, String> {
    let sorted = |mut changes: Vec<Change>| {
        changes.sort_by_key(|change| change.id);
        let twice = changes.windows(2).find(|pair| pair[0].id == pair[1].id);
        twice.map_or(Ok(changes.clone()), |pair| {
            Err(format!("twice in one record: {pair:?}"))
        })
    };
    let records = journal.into_iter();
    records
        .map(|record| Ok((sorted(record.changes)?, record.tries, record.retry_at_ms)))
        .collect()
}

#[allow(clippy::needless_pass_by_value)] // For `map_err(text)`.
pub(crate) fn text(answer: impl std::fmt::Debug) -> String {
    format!("{answer:?}")
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, memory: &T, redis: &T) -> Result<(), String> {
    if memory == redis {
        Ok(())
    } else {
        Err(format!(
            "the {what} differ\n  memory: {memory:?}\n  redis:  {redis:?}"
        ))
    }
}
