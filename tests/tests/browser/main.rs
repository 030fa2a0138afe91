//! The waiting page and the client library in a real browser, as a visitor notices them.
//!
//! Each test has a runner, a queue and a headless Chromium of its own. `VESTIBULE_CHROMIUM` names the browser, which is
//! else `chromium` on the path; `infra/test.sh` installs one.

mod away;
mod chromium;
mod front;
mod pace;
mod place;
mod scene;
mod tab;
mod turn;
