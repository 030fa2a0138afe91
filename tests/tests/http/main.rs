//! The HTTP API, as clients see it.
//!
//! Each shared case runs on every backend, with a backend of its own:
//!
//! - If `TEST_API_URL` names a running API, with its stage, the cases run on that one only. `TEST_REDIS_URL`,
//!   `TEST_DYNAMODB_URL`, `TEST_QUEUES_TABLE` and `TEST_ENTRIES_TABLE` say where it keeps its queues. `TEST_API_KEY` is
//!   the key of the protected service; `TEST_API_SIGNED` says instead that the service signs with the credentials of
//!   the environment. `TEST_CORS_ORIGIN` is an origin whose pages may call. `TEST_GATEWAY` (`sam-local`, `ministack` or
//!   `api-gateway`) names the kind of the API if its URL does not show it.
//! - Otherwise they run on the routes in this process; on the local runner, in memory and with Redis and `DynamoDB`;
//!   and on the functions under the Lambda and the API Gateway of the harness, with the line in one Redis and in a
//!   cluster.
//!
//! The modules of `in_process` hold the cases that set the clock, inject faults, look into the line or the backup, or
//! write events of API Gateway. They run in this process only.

mod address;
mod body;
mod browser;
mod cross_origin;
mod enter;
mod held_polls;
mod held_slots;
mod identity;
mod in_process;
mod leave;
mod load;
mod page;
mod pass;
mod public_document;
mod service;
mod turn;
mod visit;
mod without_javascript;

use std::{future::Future, pin::Pin, process::ExitCode};

use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Builder;
use vestibule_tests::api::{Backend, BackendKind, running_api_url};

/// A case that runs on every backend.
struct SharedCase {
    name: &'static str,
    run: for<'a> fn(&'a Backend) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

/// Lists the shared cases of a module.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) fn cases() -> Vec<crate::SharedCase> {
            vec![$(crate::SharedCase {
                name: concat!(module_path!(), "::", stringify!($name)),
                run: |backend| Box::pin($name(backend)),
            }),+]
        }
    };
}
pub(crate) use cases;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = if let Some(url) = running_api_url() {
        shared_trials(&[BackendKind::of_url(&url)])
    } else {
        let mut trials = in_process::trials();
        trials.extend(shared_trials(&LOCAL_BACKENDS));
        trials
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

const LOCAL_BACKENDS: [BackendKind; 5] = [
    BackendKind::InProcess,
    BackendKind::Runner,
    BackendKind::RunnerWithServers,
    BackendKind::Functions,
    BackendKind::FunctionsOnCluster,
];

fn shared_trials(backends: &[BackendKind]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for kind in backends.iter().copied() {
        for case in shared_cases() {
            let name = case.name.trim_start_matches("http::");
            trials.push(Trial::test(format!("{}::{name}", kind.name()), move || {
                run(kind, &case);
                Ok(())
            }));
        }
    }
    trials
}

fn shared_cases() -> impl Iterator<Item = SharedCase> {
    [
        address::cases(),
        body::cases(),
        cross_origin::cases(),
        enter::cases(),
        held_polls::cases(),
        held_slots::cases(),
        identity::cases(),
        leave::cases(),
        load::cases(),
        page::cases(),
        pass::cases(),
        public_document::cases(),
        service::cases(),
        turn::cases(),
        visit::cases(),
        without_javascript::cases(),
    ]
    .into_iter()
    .flatten()
}

fn run(kind: BackendKind, case: &SharedCase) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let backend = Backend::open(kind).await;
        (case.run)(&backend).await;
    });
}
