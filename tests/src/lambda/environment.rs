//! One execution environment: a process, started for a function, that works on one invocation at a time.

use std::{env, process::Stdio, time::Duration};

use axum::body::Bytes;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::{
    Failure, Function, Logs, lock,
    runtime_api::{Init, RuntimeApi},
};

/// Lambda's own is 10 s; machines that compile at the same time are slow.
const INIT_TIMEOUT: Duration = Duration::from_secs(30);
/// What reaches a function of this process's environment: whose account it is, which a role says on Lambda.
const INHERITED: [&str; 7] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "RUST_LOG",
];

/// A running process; killed when dropped.
#[derive(Debug)]
pub(super) struct Environment {
    pub(super) pid: u32,
    child: Child,
    api: RuntimeApi,
}

impl Environment {
    /// Starts a process and waits until it asks for work. What it logs is kept in `logs` as well.
    pub(super) async fn start(function: &Function, logs: &Logs) -> Result<Self, Failure> {
        let api = RuntimeApi::listen(function.name).await;
        let mut child = command(function, &api.address)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", function.program.display()));
        forward(function.name, child.stdout.take().expect("piped"), logs);
        forward(function.name, child.stderr.take().expect("piped"), logs);
        let mut environment = Self {
            pid: child.id().expect("it was not waited for"),
            child,
            api,
        };
        environment.ready().await?;
        Ok(environment)
    }

    async fn ready(&mut self) -> Result<(), Failure> {
        let mut init = self.api.init.clone();
        let said = async move {
            init.wait_for(|init| *init != Init::Under)
                .await
                .expect("as long as the environment")
                .clone()
        };
        tokio::select! {
            biased;
            said = said => match said {
                Init::Failed(error) => Err(Failure::Init(error.to_string())),
                Init::Under | Init::Done => Ok(()),
            },
            ended = self.child.wait() => Err(Failure::Init(format!("{:?}", ended.expect("a child")))),
            () = sleep(INIT_TIMEOUT) => Err(Failure::Init(format!("not ready after {INIT_TIMEOUT:?}"))),
        }
    }

    /// Has the process work on one invocation, for so long at most. What comes back takes the next one.
    pub(super) async fn invoke(
        mut self,
        payload: Bytes,
        limit: Duration,
    ) -> (Option<Self>, Result<Bytes, Failure>) {
        let answer = self.api.hand_over(payload, limit).await;
        let outcome = tokio::select! {
            biased;
            answer = timeout(limit, answer) => match answer {
                Ok(answer) => answer.expect("the runtime API answers what it takes"),
                Err(_) => Err(Failure::TimedOut),
            },
            ended = self.child.wait() => Err(Failure::Exited(format!("{:?}", ended.expect("a child")))),
        };
        match outcome {
            Err(Failure::TimedOut) => {
                self.child.kill().await.expect("it runs");
                (None, outcome)
            }
            Err(Failure::Exited(_)) => (None, outcome),
            _ => (Some(self), outcome),
        }
    }
}

fn command(function: &Function, runtime_api: &str) -> Command {
    let region = env::var("AWS_REGION").unwrap_or_else(|_| "us-east-1".to_owned());
    let mut command = Command::new(&function.program);
    command
        .env_clear()
        .envs(
            INHERITED
                .into_iter()
                .filter_map(|name| Some((name, env::var_os(name)?))),
        )
        .env("AWS_REGION", region)
        .env("AWS_LAMBDA_FUNCTION_NAME", function.name)
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env(
            "AWS_LAMBDA_LOG_GROUP_NAME",
            format!("/aws/lambda/{}", function.name),
        )
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "test")
        .env("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
        .envs(&function.variables)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What a function logs is part of a failed test's output.
fn forward(name: &'static str, output: impl AsyncRead + Send + Unpin + 'static, logs: &Logs) {
    let logs = logs.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            eprintln!("{name}: {line}");
            lock(&logs).push(line);
        }
    });
}
