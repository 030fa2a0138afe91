//! Tests of the waiting page and the client library in a real browser, as a visitor sees them.
//!
//! Each test has its own runner, queue and headless Chromium. `VESTIBULE_CHROMIUM` names the browser. Without it, the
//! tests start `chromium` from the path. `infra/test.sh` installs one.

mod chromium;
mod claim;
mod fake_api;
mod following;
mod outage;
mod place;
mod poll_timing;
mod proxy;
mod scene;
mod tab;
