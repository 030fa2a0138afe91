//! One tab of the browser: what it shows, and clicks on it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::chromium::BrowserConnection;

/// The longest that a test waits for the page to show something.
pub(crate) const BOUND: Duration = Duration::from_secs(40);
/// The pause between two looks at the page.
pub(crate) const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A script that records every position that the page shows.
const RECORD_POSITIONS: &str = r#"
    globalThis.positionsShown = [];
    addEventListener("DOMContentLoaded", () => {
        const part = document.querySelector('[data-part="position"]');
        const look = () => part.textContent && positionsShown.push(Number(part.textContent.replaceAll(",", "")));
        if (part) new MutationObserver(look).observe(part, { childList: true, characterData: true, subtree: true });
    });
"#;

/// An expression that reads only the visible text, as a visitor reads it.
const READ_VIEW: &str = r#"({
    address: location.href,
    title: document.title,
    visible: document.visibilityState === "visible",
    parts: Object.fromEntries([...document.querySelectorAll("[data-part]")]
        .filter((part) => part.checkVisibility() && part.innerText !== "")
        .map((part) => [part.dataset.part, part.innerText])),
})"#;

/// One tab.
pub(crate) struct Tab {
    connection: Arc<BrowserConnection>,
    session: String,
}

/// What a visitor sees on the page.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PageView {
    pub(crate) address: String,
    pub(crate) title: String,
    /// Whether the tab is in front.
    pub(crate) visible: bool,
    parts: BTreeMap<String, String>,
}

impl PageView {
    /// The text of a part of the page. Empty if the part is not visible.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// Whether the page shows this position in line.
    pub(crate) fn shows_position(&self, position: u64) -> bool {
        self.part("headline") == "You are in line" && self.part("position") == position.to_string()
    }
}

impl Tab {
    pub(crate) async fn open(connection: Arc<BrowserConnection>) -> Self {
        let target = connection
            .send_command(None, "Target.createTarget", json!({ "url": "about:blank" }))
            .await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = connection
            .send_command(None, "Target.attachToTarget", attach)
            .await;
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let tab = Self { connection, session };
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            tab.send_command(domain, json!({})).await;
        }
        let source = json!({ "source": RECORD_POSITIONS });
        tab.send_command("Page.addScriptToEvaluateOnNewDocument", source)
            .await;
        tab
    }

    /// Opens an address in the tab.
    pub(crate) async fn visit(&self, address: &str) {
        self.send_command("Page.navigate", json!({ "url": address }))
            .await;
    }

    /// Reloads the page.
    pub(crate) async fn reload(&self) {
        // Mark the old page, so that the test does not read it as the new one.
        self.evaluate("globalThis.isOld = true").await;
        self.send_command("Page.reload", json!({})).await;
        let end = Instant::now() + BOUND;
        while self.evaluate("!globalThis.isOld").await != Some(json!(true)) {
            assert!(Instant::now() < end, "the page did not reload");
            sleep(LOOK_PAUSE).await;
        }
    }

    /// Brings the tab to the front, which hides the other tabs.
    pub(crate) async fn bring_to_front(&self) {
        self.send_command("Page.bringToFront", json!({})).await;
    }

    /// Clicks a part of the page.
    pub(crate) async fn click(&self, part: &str) {
        let place = format!(
            r#"(({{ x, y, width, height }}) => ({{ x: x + width / 2, y: y + height / 2 }}))(
                document.querySelector('[data-part="{part}"]').getBoundingClientRect())"#
        );
        let mut mouse = self.evaluate(&place).await.expect("the page has it");
        mouse["button"] = json!("left");
        mouse["clickCount"] = json!(1);
        for kind in ["mousePressed", "mouseReleased"] {
            mouse["type"] = json!(kind);
            self.send_command("Input.dispatchMouseEvent", mouse.clone()).await;
        }
    }

    /// Every position that the page has shown since it was loaded, in order.
    pub(crate) async fn shown_positions(&self) -> Vec<u64> {
        let positions = self.evaluate("positionsShown").await.expect("the page has it");
        serde_json::from_value(positions).expect("numbers")
    }

    /// Waits until the page meets a condition, and returns its view.
    pub(crate) async fn until(&self, what: &str, is_met: impl Fn(&PageView) -> bool) -> PageView {
        let end = Instant::now() + BOUND;
        loop {
            let view = self.read_view().await;
            if is_met(&view) {
                return view;
            }
            assert!(
                Instant::now() < end,
                "not within {BOUND:?}: {what}; the page shows {view:?}"
            );
            sleep(LOOK_PAUSE).await;
        }
    }

    /// Reads what the visitor sees now. The view is empty between two pages.
    pub(crate) async fn read_view(&self) -> PageView {
        let view = self.evaluate(READ_VIEW).await;
        view.map_or_else(PageView::default, |view| {
            serde_json::from_value(view).expect("the view has the expected form")
        })
    }

    async fn evaluate(&self, expression: &str) -> Option<Value> {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let answer = self
            .connection
            .exchange(Some(&self.session), "Runtime.evaluate", parameters)
            .await;
        // A page that is being closed does not answer.
        let mut result = answer.expect("the browser is running")["result"].take();
        (result["exceptionDetails"].is_null() && !result.is_null()).then(|| result["result"]["value"].take())
    }

    async fn send_command(&self, method: &str, parameters: Value) {
        self.connection
            .send_command(Some(&self.session), method, parameters)
            .await;
    }
}
