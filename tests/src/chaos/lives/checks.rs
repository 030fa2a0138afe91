//! What must hold in a run. Each check adds the violations that it finds.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::time::sleep;

use super::{
    Lives,
    old_entries::OldEntries,
    operator::has_totals,
    sale::{VisitorView, count_let_in, count_totals},
};
use crate::{
    chaos::api_client::{ApiClient, RETRY_PAUSE},
    in_process::ApiRequest,
};

/// The time limit for a document that shows the second life.
const DOCUMENT_MAX: Duration = Duration::from_secs(30);

impl Lives {
    /// Compares the report of a sale (0 or 1) with what the visitors were told, unless it may lack some of it.
    pub(super) fn check_totals(&mut self, sale: usize, report: &Value, views: &[VisitorView]) {
        if self.plan.may_lack_counts(sale) {
            return;
        }
        let life = ["the first life", "the second life"][sale];
        let seen = count_totals(views);
        if !has_totals(&report["totals"], &seen) {
            self.violations.push(format!(
                "the report of {life} says {}, but its visitors saw {seen}",
                report["totals"]
            ));
        }
        let (shown, let_in) = (&report["totals"]["let_in"], count_let_in(views));
        if !shown.as_u64().is_some_and(|shown| let_in.contains(&shown)) {
            self.violations.push(format!(
                "the report of {life} says that {shown} were let in, not {let_in:?}"
            ));
        }
        if report["waits"]["count"] != report["totals"]["promoted"] {
            self.violations
                .push(format!("the report of {life} lacks waits: {report}"));
        }
    }

    pub(super) fn check_same_report(&mut self, when: &str, expected: &Value, report: &Value) {
        for part in ["generation", "totals", "waits", "stays", "peak"] {
            if report[part] != expected[part] {
                self.violations.push(format!(
                    "{when}, the report says {part} {}, and {} before",
                    report[part], expected[part]
                ));
            }
        }
    }

    /// Tokens, times and positions of the second life are its own.
    pub(super) fn check_views(&mut self, begun_ms: u64, first: &[VisitorView], second: &[VisitorView]) {
        let old: BTreeSet<_> = first.iter().filter_map(VisitorView::token).collect();
        let last_visits = first.iter().filter_map(VisitorView::last_visit);
        let last_visit = last_visits.map(|(_, visit)| *visit).max().unwrap_or(0);
        let most = u64::try_from(second.len()).expect("few visitors");
        for (number, view) in second.iter().enumerate() {
            let has_old_token = view.visits.iter().any(|(token, _)| old.contains(token.as_str()));
            // While the table is away, an answer to a visitor who is in lacks the time of entering.
            let is_old = view
                .joined_at_ms
                .is_some_and(|joined_at_ms| joined_at_ms < begun_ms)
                || view.visits.iter().any(|(_, visit)| *visit <= last_visit);
            if has_old_token || is_old || view.highest_position > most {
                self.violations.push(format!(
                    "visitor {number} got a place of the first life: {view:?}"
                ));
            }
        }
    }

    /// The operator sees the entries of the second life and no other. Those that may be forgotten may be in any state, or gone.
    pub(super) async fn check_entries(&mut self, views: &[VisitorView]) {
        let (uncertain, certain): (Vec<_>, Vec<_>) = views.iter().partition(|view| view.may_be_forgotten);
        let uncertain: BTreeSet<_> = uncertain.into_iter().filter_map(VisitorView::token).collect();
        let of = |is_wanted: &dyn Fn(&VisitorView) -> bool| {
            let wanted = certain.iter().filter(|view| is_wanted(view));
            let mut tokens: Vec<_> = wanted
                .filter_map(|view| view.token())
                .map(str::to_owned)
                .collect();
            tokens.sort();
            tokens
        };
        let is_live = |view: &VisitorView| !view.has_completed && !view.has_left;
        for (state, wanted) in [
            ("waiting", Vec::new()),
            ("ready", of(&|view| is_live(view) && !view.was_let_in)),
            ("active", of(&|view| is_live(view) && view.was_let_in)),
            ("completed", of(&|view| view.has_completed)),
            ("dismissed", Vec::new()),
        ] {
            let mut shown = self.operator.tokens(state).await;
            let count_max = wanted.len() + uncertain.len();
            shown.retain(|token| !uncertain.contains(token.as_str()));
            if shown != wanted {
                self.violations
                    .push(format!("the operator sees {state} {shown:?}, and not {wanted:?}"));
            }
            let stats = self.operator.stats().await;
            let counted = stats[state]
                .as_u64()
                .and_then(|count| usize::try_from(count).ok());
            if counted.is_some_and(|count| !(wanted.len()..=count_max).contains(&count)) {
                self.violations
                    .push(format!("{} entries are {state}: {stats}", wanted.len()));
            }
        }
    }

    /// A service that checks passes offline learns from the public document that those of the first life are void.
    pub(super) async fn check_epoch(&mut self, old: &OldEntries) {
        let client = ApiClient::for_world(&self.world);
        let end = Instant::now() + DOCUMENT_MAX;
        let document = loop {
            match client.send(ApiRequest::get(client.queue.clone())).await {
                Some((200, document)) => break document,
                other => assert!(Instant::now() < end, "no document in time: {other:?}"),
            }
            sleep(RETRY_PAUSE).await;
        };
        if document["min_epoch"].as_u64() <= old.highest_pass_epoch() {
            self.violations.push(format!(
                "passes up to epoch {:?} are of the first life, and the document is {document}",
                old.highest_pass_epoch()
            ));
        }
    }
}
