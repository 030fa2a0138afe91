//! The visit of one visitor from the arrival to the end.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use vestibule_domain::state::EntryState;

use crate::{
    conduct::{Conduct, VisitPlan},
    gauges::Stage,
    operation::Operation,
    scene::Scene,
    visit_record::{VisitEnd, VisitRecord},
    visitor::{Step, Visitor},
};

/// A request that ends a visit is sent so often until it is answered.
const END_ATTEMPTS: u32 = 5;
/// The pause between them grows by this.
const END_PAUSE: Duration = Duration::from_secs(1);
/// A session is made longer so long before its end.
const EXTEND_AHEAD: Duration = Duration::from_secs(3);
/// A no-show counts as having a slot until so long before the deadline, so that the count is never too high.
const SLOT_MARGIN: Duration = Duration::from_secs(1);
/// A no-show looks so often, once a second, whether the server has ended the turn.
const LOOKS: u32 = 30;

/// A visit whose visitor is done, or a fake that the sweep has to end.
pub(crate) enum FinishedVisit {
    /// The visit has ended.
    Ended(VisitRecord),
    /// The visitor has a place and sends nothing more.
    Silent(Box<Visitor>),
}

/// Where a visitor is after the line.
enum Turn {
    Active,
    Ready,
    Silent,
    Ended(VisitEnd),
}

/// Runs the visit of a visitor.
pub(crate) async fn run_visit(scene: Arc<Scene>, plan: VisitPlan) -> FinishedVisit {
    let mut visitor = Visitor::new(scene, plan.conduct);
    let end = match wait_for_turn(&mut visitor, plan).await {
        Turn::Silent => return FinishedVisit::Silent(Box::new(visitor)),
        Turn::Active => stay(&mut visitor, plan.stay).await,
        Turn::Ready => let_turn_pass(&mut visitor).await,
        Turn::Ended(end) => end,
    };
    FinishedVisit::Ended(conclude(visitor, end))
}

/// Ends the visit of a fake, which was silent since it entered.
pub(crate) async fn end_silent_visit(mut visitor: Box<Visitor>) -> VisitRecord {
    let end = match visitor.look().await {
        Err(refusal) if refusal.is_end_of_visit() => silent_end(&visitor),
        Ok(entry) if entry.state == EntryState::Waiting => leave(&mut visitor, VisitEnd::LeftLine).await,
        Ok(entry) => {
            visitor.record.is_promoted |= entry.state == EntryState::Ready;
            visitor.record.claim_by_ms = entry.claim_by_ms;
            leave(&mut visitor, VisitEnd::LeftSlot).await
        }
        Err(_) => leave(&mut visitor, VisitEnd::LeftLine).await,
    };
    conclude(*visitor, end)
}

fn conclude(mut visitor: Visitor, end: VisitEnd) -> VisitRecord {
    visitor.free_slot();
    visitor.move_to(Stage::Ended);
    visitor.record.end = end;
    visitor.record.clone()
}

/// How the server ended the visit of a visitor who was silent.
fn silent_end(visitor: &Visitor) -> VisitEnd {
    if visitor.record.is_fast_tracked {
        VisitEnd::SessionExpired
    } else {
        VisitEnd::Lapsed
    }
}

/// Follows the place until the turn, or until the visit ends without one.
async fn wait_for_turn(visitor: &mut Visitor, plan: VisitPlan) -> Turn {
    let mut leaves_at = None;
    loop {
        match (visitor.state(), plan.conduct) {
            (Some(_), Conduct::Fake) => return Turn::Silent,
            (Some(EntryState::Active), _) => return Turn::Active,
            (Some(EntryState::Ready), Conduct::NoShow) => return Turn::Ready,
            (Some(EntryState::Waiting), Conduct::Leaver) => {
                leaves_at = leaves_at.or_else(|| Some(Instant::now() + plan.patience));
            }
            (Some(EntryState::Ready), Conduct::Leaver) => leaves_at = None,
            (None | Some(EntryState::Waiting | EntryState::Ready), _) => {}
            (Some(other), _) => return Turn::Ended(VisitEnd::Lost(other.name().to_owned())),
        }
        match visitor.step(leaves_at).await {
            Step::Next => {}
            Step::TimeUp => return Turn::Ended(leave(visitor, VisitEnd::LeftLine).await),
            Step::Stopped => return Turn::Ended(give_up(visitor).await),
            Step::Ended(refusal) if visitor.record.has_entered => {
                return Turn::Ended(VisitEnd::Lost(refusal.code));
            }
            Step::Ended(refusal) => return Turn::Ended(VisitEnd::Refused(refusal.code)),
        }
    }
}

/// Ends the visit because the rehearsal ends.
async fn give_up(visitor: &mut Visitor) -> VisitEnd {
    match visitor.state() {
        None => VisitEnd::NoPlace,
        Some(EntryState::Waiting) => leave(visitor, VisitEnd::LeftLine).await,
        Some(_) => leave(visitor, VisitEnd::LeftSlot).await,
    }
}

/// The visitor is active, and the protected service asks for it a number of times. Then the service completes the visit.
async fn stay(visitor: &mut Visitor, stay: Duration) -> VisitEnd {
    let (began_at, checks) = (Instant::now(), visitor.scene.checks);
    let ends_at = began_at + stay;
    let mut checked = 0;
    let mut session_ends_at = session_end(visitor);
    loop {
        let check_at = began_at + stay.mul_f64(f64::from(checked + 1) / f64::from(checks + 1));
        let check_at = (checked < checks && visitor.scene.api.has_service_access()).then_some(check_at);
        // A session that lasts longer than the stay needs no more time.
        let extend_at = session_ends_at.filter(|end| *end < ends_at + EXTEND_AHEAD);
        let extend_at = extend_at.map(|end| end - EXTEND_AHEAD);
        let until = [check_at, extend_at]
            .into_iter()
            .flatten()
            .fold(ends_at, Instant::min);
        match visitor.step(Some(until)).await {
            Step::Next => {}
            Step::Ended(refusal) => return lose_session(visitor, refusal.code),
            Step::TimeUp if check_at == Some(until) => {
                checked += 1;
                if let Err(refusal) = visitor.ask_as_service(Operation::Validate).await
                    && !refusal.is_retryable()
                {
                    return lose_session(visitor, refusal.code);
                }
            }
            Step::TimeUp if extend_at == Some(until) => {
                let before = session_ends_at.take();
                match visitor.extend().await {
                    // A session that has its longest time already does not grow.
                    Ok(()) => session_ends_at = session_end(visitor).filter(|end| before < Some(*end)),
                    Err(refusal) if refusal.is_end_of_visit() => return lose_session(visitor, refusal.code),
                    Err(_) => {}
                }
            }
            Step::Stopped | Step::TimeUp => return finish(visitor).await,
        }
        if visitor.state() != Some(EntryState::Active) {
            return lose_session(visitor, "not-active".to_owned());
        }
    }
}

/// When the session of the last answer ends. `None` if it does not say.
fn session_end(visitor: &Visitor) -> Option<Instant> {
    let left_ms = visitor.follower.entry()?.expires_in_ms?;
    Some(Instant::now() + Duration::from_millis(left_ms))
}

fn lose_session(visitor: &mut Visitor, code: String) -> VisitEnd {
    visitor.free_slot();
    if code == "expired" {
        VisitEnd::SessionExpired
    } else {
        VisitEnd::Lost(code)
    }
}

/// The protected service completes the visit. Without access to it, the visitor leaves.
async fn finish(visitor: &mut Visitor) -> VisitEnd {
    if !visitor.scene.api.has_service_access() {
        return leave(visitor, VisitEnd::LeftSlot).await;
    }
    visitor.free_slot();
    for attempt in 1..=END_ATTEMPTS {
        match visitor.ask_as_service(Operation::Complete).await {
            Ok(()) => return VisitEnd::Completed,
            Err(refusal) if !refusal.is_retryable() => return VisitEnd::Lost(refusal.code),
            Err(_) => sleep(END_PAUSE * attempt).await,
        }
    }
    VisitEnd::Unknown
}

/// The visitor leaves. `end` says from where.
async fn leave(visitor: &mut Visitor, end: VisitEnd) -> VisitEnd {
    visitor.free_slot();
    for attempt in 1..=END_ATTEMPTS {
        match visitor.leave().await {
            Ok(()) => return end,
            Err(refusal) if !refusal.is_retryable() => return VisitEnd::Lost(refusal.code),
            Err(_) => sleep(END_PAUSE * attempt).await,
        }
    }
    VisitEnd::Unknown
}

/// Lets the time to claim pass, and looks until the server has ended the turn.
async fn let_turn_pass(visitor: &mut Visitor) -> VisitEnd {
    let claim_in_ms = visitor.follower.entry().and_then(|entry| entry.claim_in_ms);
    let deadline = Instant::now() + Duration::from_millis(claim_in_ms.unwrap_or_default());
    for (at, has_slot) in [(deadline - SLOT_MARGIN, true), (deadline, false)] {
        if visitor.is_stopped_before(at).await {
            return leave(visitor, VisitEnd::LeftSlot).await;
        }
        if has_slot {
            visitor.free_slot();
        }
    }
    for _ in 0..LOOKS {
        match visitor.look().await {
            Err(refusal) if refusal.is_end_of_visit() => return VisitEnd::NoShow,
            Err(refusal) if !refusal.is_retryable() => return VisitEnd::Lost(refusal.code),
            _ if visitor.is_stopped_before(Instant::now() + END_PAUSE).await => {
                return leave(visitor, VisitEnd::LeftSlot).await;
            }
            _ => {}
        }
    }
    VisitEnd::Unknown
}
