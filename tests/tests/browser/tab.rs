//! One tab: what it shows, and the hand on its mouse.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::chromium::Wire;

/// What is to be seen is seen within this.
pub(crate) const BOUND: Duration = Duration::from_secs(40);
/// Whoever waits looks so often.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Keeps every position that the page ever shows.
const POSITIONS: &str = r#"
    globalThis.positionsShown = [];
    addEventListener("DOMContentLoaded", () => {
        const part = document.querySelector('[data-part="position"]');
        const look = () => part.textContent && positionsShown.push(Number(part.textContent.replaceAll(",", "")));
        if (part) new MutationObserver(look).observe(part, { childList: true, characterData: true, subtree: true });
    });
"#;

/// Only what can be seen, as it is read.
const SHOWN: &str = r#"({
    address: location.href,
    title: document.title,
    visible: document.visibilityState === "visible",
    parts: Object.fromEntries([...document.querySelectorAll("[data-part]")]
        .filter((part) => part.checkVisibility() && part.innerText !== "")
        .map((part) => [part.dataset.part, part.innerText])),
})"#;

/// A tab.
pub(crate) struct Tab {
    wire: Arc<Wire>,
    session: String,
}

/// What a visitor sees.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Shown {
    pub(crate) address: String,
    pub(crate) title: String,
    /// Whether the tab is the one in front.
    pub(crate) visible: bool,
    parts: BTreeMap<String, String>,
}

impl Shown {
    /// The text of a part of the page; empty where it is not to be seen.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// Whether the visitor is in line at this position.
    pub(crate) fn waits_at(&self, position: u64) -> bool {
        self.part("headline") == "You are in line" && self.part("position") == position.to_string()
    }
}

impl Tab {
    pub(crate) async fn open(wire: Arc<Wire>) -> Self {
        let target = wire
            .order(None, "Target.createTarget", json!({ "url": "about:blank" }))
            .await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = wire.order(None, "Target.attachToTarget", attach).await;
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let this = Self { wire, session };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            this.order(domain, json!({})).await;
        }
        let source = json!({ "source": POSITIONS });
        this.order("Page.addScriptToEvaluateOnNewDocument", source).await;
        this
    }

    /// Goes to an address.
    pub(crate) async fn visit(&self, address: &str) {
        self.order("Page.navigate", json!({ "url": address })).await;
    }

    /// Loads the page anew.
    pub(crate) async fn reload(&self) {
        // So that nothing of the old page is taken for the new one's.
        self.evaluate("globalThis.isOld = true").await;
        self.order("Page.reload", json!({})).await;
        let end = Instant::now() + BOUND;
        while self.evaluate("!globalThis.isOld").await != Some(json!(true)) {
            assert!(Instant::now() < end, "the page does not load anew");
            sleep(LOOK).await;
        }
    }

    /// Comes in front of the other tabs, which are hidden then.
    pub(crate) async fn to_front(&self) {
        self.order("Page.bringToFront", json!({})).await;
    }

    /// Clicks on a part of the page.
    pub(crate) async fn click(&self, part: &str) {
        let place = format!(
            r#"(({{ x, y, width, height }}) => ({{ x: x + width / 2, y: y + height / 2 }}))(
                document.querySelector('[data-part="{part}"]').getBoundingClientRect())"#
        );
        let mut mouse = self.evaluate(&place).await.expect("it is on the page");
        mouse["button"] = json!("left");
        mouse["clickCount"] = json!(1);
        for kind in ["mousePressed", "mouseReleased"] {
            mouse["type"] = json!(kind);
            self.order("Input.dispatchMouseEvent", mouse.clone()).await;
        }
    }

    /// Every position that was shown since the page was loaded, in order.
    pub(crate) async fn positions(&self) -> Vec<u64> {
        let positions = self.evaluate("positionsShown").await.expect("it is on the page");
        serde_json::from_value(positions).expect("numbers")
    }

    /// Waits until the visitor sees something.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Shown) -> bool) -> Shown {
        let end = Instant::now() + BOUND;
        loop {
            let shown = self.shown().await;
            if is_so(&shown) {
                return shown;
            }
            assert!(
                Instant::now() < end,
                "never seen in {BOUND:?}: {what}; but {shown:?}"
            );
            sleep(LOOK).await;
        }
    }

    /// What the visitor sees now; nothing between two pages.
    pub(crate) async fn shown(&self) -> Shown {
        let shown = self.evaluate(SHOWN).await;
        shown.map_or_else(Shown::default, |shown| {
            serde_json::from_value(shown).expect("as it was asked for")
        })
    }

    async fn evaluate(&self, expression: &str) -> Option<Value> {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let answer = self
            .wire
            .ask(Some(&self.session), "Runtime.evaluate", parameters)
            .await;
        // A page that is being left does not answer.
        let mut result = answer.expect("the browser runs")["result"].take();
        (result["exceptionDetails"].is_null() && !result.is_null()).then(|| result["result"]["value"].take())
    }

    async fn order(&self, method: &str, parameters: Value) {
        self.wire.order(Some(&self.session), method, parameters).await;
    }
}
