//! One execution environment: a process of a function that handles one invocation at a time.

use std::{env, process::Stdio, time::Duration};

use axum::body::Bytes;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::{
    Function, InvocationError, Logs, Order, lock,
    runtime_api::{InitState, RuntimeApi},
};

/// The longest that a process may take to start. Lambda allows 10 s, but a machine that compiles meanwhile is slow.
const INIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The variables that a function inherits from this process. They name the AWS account, as the role does on Lambda.
const INHERITED: [&str; 7] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "RUST_LOG",
];

/// A running process. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Environment {
    pub(super) pid: u32,
    child: Child,
    api: RuntimeApi,
}

impl Environment {
    /// Starts a process, waits until it asks for work, and appends its log lines to `logs`.
    pub(super) async fn start(function: &Function, logs: &Logs) -> Result<Self, InvocationError> {
        let api = RuntimeApi::listen(function.name).await;
        let mut child = process_command(function, &api.address)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", function.program.display()));
        forward_output(function.name, child.stdout.take().expect("piped"), logs);
        forward_output(function.name, child.stderr.take().expect("piped"), logs);
        let mut environment = Self {
            pid: child.id().expect("the process has not been reaped"),
            child,
            api,
        };
        environment.wait_until_ready().await?;
        Ok(environment)
    }

    async fn wait_until_ready(&mut self) -> Result<(), InvocationError> {
        let mut init = self.api.init.clone();
        let state = async move {
            init.wait_for(|init| *init != InitState::Starting)
                .await
                .expect("the runtime API lives as long as the environment")
                .clone()
        };
        tokio::select! {
            biased;
            state = state => match state {
                InitState::Failed(error) => Err(InvocationError::Init(error.to_string())),
                InitState::Starting | InitState::Ready => Ok(()),
            },
            exit = wait_for_exit(&mut self.child) => Err(InvocationError::Init(exit)),
            () = sleep(INIT_TIMEOUT) => Err(InvocationError::Init(format!("not ready after {INIT_TIMEOUT:?}"))),
        }
    }

    /// Runs one invocation in the process and kills the process after `limit`. Returns the environment if it can take
    /// another invocation.
    pub(super) async fn invoke(
        mut self,
        order: Order,
        limit: Duration,
    ) -> (Option<Self>, Result<Bytes, InvocationError>) {
        let answer = self.api.hand_over_invocation(order, limit).await;
        let outcome = tokio::select! {
            biased;
            answer = timeout(limit, answer) => match answer {
                Ok(answer) => answer.expect("the runtime API answers each invocation that it accepts"),
                Err(_) => Err(InvocationError::TimedOut),
            },
            exit = wait_for_exit(&mut self.child) => Err(InvocationError::Exited(exit)),
        };
        match outcome {
            Err(InvocationError::TimedOut) => {
                self.child.kill().await.expect("the process runs");
                (None, outcome)
            }
            Err(InvocationError::Exited(_)) => (None, outcome),
            _ => (Some(self), outcome),
        }
    }
}

/// Waits until a process exits and describes how it did.
async fn wait_for_exit(process: &mut Child) -> String {
    let status = process.wait().await.expect("the process can be waited for");
    format!("{status:?}")
}

fn process_command(function: &Function, runtime_api: &str) -> Command {
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

/// Copies the log of a function to the output of the test, so that a failed test shows it.
fn forward_output(name: &'static str, output: impl AsyncRead + Send + Unpin + 'static, logs: &Logs) {
    let logs = logs.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            eprintln!("{name}: {line}");
            lock(&logs).push(line);
        }
    });
}
