//! AWS's runtime emulator (`aws-lambda-rie`). Each start is a process of its own. The emulator reports how long
//! the function took to start. It crashes under concurrent calls, so calls are made one at a time.

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

use crate::BenchResult;

const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The timeout of a function, in seconds. It is long enough for each call. The promoter runs until two seconds
/// before.
const FUNCTION_TIMEOUT: &str = "4";

/// How a function is started.
pub(crate) struct Emulator {
    pub(crate) program: PathBuf,
    pub(crate) bootstrap: PathBuf,
    pub(crate) variables: BTreeMap<String, String>,
}

/// The figures of one start and the first call after it.
pub(crate) struct Start {
    pub(crate) init_ms: f64,
    pub(crate) call_ms: f64,
    pub(crate) peak_rss_bytes: u64,
}

/// The output of the emulator and of the function.
type Log = Arc<Mutex<Vec<String>>>;

impl Emulator {
    pub(crate) async fn start_and_call(&self, event: &Value) -> BenchResult<Start> {
        let [front, runtime] = free_addresses()?;
        let mut child = Command::new(&self.program)
            .args(["--runtime-interface-emulator-address", &front])
            .args(["--runtime-api-address", &runtime])
            .arg(&self.bootstrap)
            .envs(&self.variables)
            .env("AWS_LAMBDA_FUNCTION_TIMEOUT", FUNCTION_TIMEOUT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let log = Log::default();
        collect_output(&log, child.stdout.take().ok_or("no output")?);
        collect_output(&log, child.stderr.take().ok_or("no output")?);
        let measured = measure(&front, event, child.id().ok_or("it ended")?, &log).await;
        terminate(&mut child).await?;
        measured.map_err(|error| format!("{error}; the log:\n{}", read_log(&log).join("\n")).into())
    }
}

async fn measure(front: &str, event: &Value, emulator: u32, log: &Log) -> BenchResult<Start> {
    let until = Instant::now() + TIME_LIMIT;
    while TcpStream::connect(front).await.is_err() {
        if Instant::now() > until {
            return Err("the emulator does not listen on its port".into());
        }
        sleep(Duration::from_millis(10)).await;
    }
    let url = format!("http://{front}/2015-03-31/functions/function/invocations");
    let client = reqwest::Client::builder().timeout(TIME_LIMIT).build()?;
    let answer: Value = client.post(url).json(event).send().await?.json().await?;
    if !is_success(&answer) {
        return Err(format!("the function answered {answer}").into());
    }
    Ok(Start {
        init_ms: read_log_ms(log, "INIT REPORT(", "durationMs: ").await?,
        call_ms: read_log_ms(log, "INVOKE RTDONE(", "duration: ").await?,
        peak_rss_bytes: peak_rss(emulator)?,
    })
}

/// Whether the function did its work. Only such a call is measured. The promoter answers with nothing, and the authorizer
/// with a policy.
fn is_success(answer: &Value) -> bool {
    let status = answer["statusCode"].as_u64();
    answer.is_null()
        || answer["ok"] == true
        || answer["policyDocument"]["Statement"][0]["Effect"] == "Allow"
        || status.is_some_and(|status| (200..300).contains(&status))
}

/// A number in the log, once its line is there.
async fn read_log_ms(log: &Log, line: &str, name: &str) -> BenchResult<f64> {
    let until = Instant::now() + TIME_LIMIT;
    loop {
        let found = read_log(log).into_iter().find(|logged| logged.contains(line));
        if let Some(rest) = found.as_deref().and_then(|logged| logged.split(name).nth(1)) {
            let digits: String = rest
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            return Ok(digits.parse()?);
        }
        if Instant::now() > until {
            return Err(format!("the emulator did not log {line}").into());
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// The peak memory of the function, which is the child of the emulator.
fn peak_rss(emulator: u32) -> BenchResult<u64> {
    for process in fs::read_dir("/proc")? {
        // Other processes start and end meanwhile.
        let Ok(status) = fs::read_to_string(process?.path().join("status")) else {
            continue;
        };
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        if field("PPid:") == Some(&emulator.to_string()) {
            let kibibytes = field("VmHWM:").and_then(|size| size.split(' ').next());
            return Ok(kibibytes.ok_or("no VmHWM")?.parse::<u64>()? * 1_024);
        }
    }
    Err("the emulator has no child".into())
}

/// Ends the emulator by SIGTERM, because it then ends its child as well.
async fn terminate(child: &mut Child) -> BenchResult {
    if let Some(pid) = child.id() {
        Command::new("kill")
            .args(["-TERM", &pid.to_string()])
            .status()
            .await?;
    }
    timeout(TIME_LIMIT, child.wait()).await??;
    Ok(())
}

fn collect_output(log: &Log, output: impl AsyncRead + Send + Unpin + 'static) {
    let log = log.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
}

fn read_log(log: &Log) -> Vec<String> {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Two free addresses. They stay free unless another process takes them in the meantime.
fn free_addresses() -> BenchResult<[String; 2]> {
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let [front, runtime] = &listeners;
    Ok([front.local_addr()?.to_string(), runtime.local_addr()?.to_string()])
}
