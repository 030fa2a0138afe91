//! What the API does, seen from outside: one suite for every way of running it. Each case stands once in the list for
//! each backend, with a backend of its own:
//!
//! - where `TEST_API_URL` names one that is running, with its stage, for that one. `TEST_REDIS_URL`, `TEST_DYNAMODB_URL`,
//!   `TEST_QUEUES_TABLE` and `TEST_ENTRIES_TABLE` say where it keeps its queues; `TEST_API_KEY` is what the protected
//!   service sends, or `TEST_API_SIGNED` says that it signs with the credentials of the environment; `TEST_CORS_ORIGIN`
//!   is an origin whose pages may call, and `TEST_GATEWAY` (`sam-local`, `ministack` or `api-gateway`) says what it is
//!   where its address does not show that;
//! - else for the local runner, in memory and with Redis and `DynamoDB`, and for the functions under Lambda and API Gateway
//!   of the harness, the line in one Redis and in a cluster.

mod address;
mod body;
mod cross_origin;
mod enter;
mod identity;
mod leave;
mod load;
mod pass;
mod public;
mod service;
mod turn;
mod visit;
mod wait;

use std::{future::Future, pin::Pin, process::ExitCode};

use libtest_mimic::{Arguments, Trial};
use vestibule_tests::api::{Backend, Kind, running};

/// One thing that the API does.
struct Case {
    name: &'static str,
    run: for<'a> fn(&'a Backend) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
}

/// The cases of a module, by the names of their functions.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) fn cases() -> Vec<crate::Case> {
            vec![$(crate::Case {
                name: concat!(module_path!(), "::", stringify!($name)),
                run: |backend| Box::pin($name(backend)),
            }),+]
        }
    };
}
pub(crate) use cases;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for kind in backends() {
        for case in all() {
            let name = case.name.trim_start_matches("conformance::");
            trials.push(Trial::test(format!("{}::{name}", kind.name()), move || {
                run(kind, &case);
                Ok(())
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn backends() -> Vec<Kind> {
    match running() {
        Some(url) => vec![Kind::of_url(&url)],
        None => vec![
            Kind::Runner,
            Kind::RunnerWithServers,
            Kind::Functions,
            Kind::FunctionsOnCluster,
        ],
    }
}

fn all() -> impl Iterator<Item = Case> {
    [
        address::cases(),
        body::cases(),
        cross_origin::cases(),
        enter::cases(),
        identity::cases(),
        leave::cases(),
        load::cases(),
        pass::cases(),
        public::cases(),
        service::cases(),
        turn::cases(),
        visit::cases(),
        wait::cases(),
    ]
    .into_iter()
    .flatten()
}

fn run(kind: Kind, case: &Case) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let backend = Backend::open(kind).await;
        (case.run)(&backend).await;
    });
}
