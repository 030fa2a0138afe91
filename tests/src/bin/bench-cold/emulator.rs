//! AWS's runtime emulator (`aws-lambda-rie`): one process a start. It reports how long the function took to start, and
//! crashes where two call at once, so nobody does.

use std::{
    collections::BTreeMap,
    error::Error,
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

const BOUND: Duration = Duration::from_secs(30);
/// In seconds. Long enough for every call; the promoter's lasts until two seconds before.
const FUNCTION_TIMEOUT: &str = "4";

/// How a function is started.
pub(crate) struct Emulator {
    pub(crate) program: PathBuf,
    pub(crate) bootstrap: PathBuf,
    pub(crate) variables: BTreeMap<String, String>,
}

/// One start and the first call after it.
pub(crate) struct Start {
    pub(crate) init_ms: f64,
    pub(crate) call_ms: f64,
    pub(crate) peak_rss_bytes: u64,
}

/// What the emulator and the function said so far.
type Log = Arc<Mutex<Vec<String>>>;

impl Emulator {
    pub(crate) async fn start_and_call(&self, event: &Value) -> Result<Start, Box<dyn Error>> {
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
        collect(&log, child.stdout.take().ok_or("no output")?);
        collect(&log, child.stderr.take().ok_or("no output")?);
        let measured = measure(&front, event, child.id().ok_or("it ended")?, &log).await;
        end(&mut child).await?;
        measured.map_err(|error| format!("{error}; it said:\n{}", said(&log).join("\n")).into())
    }
}

async fn measure(front: &str, event: &Value, emulator: u32, log: &Log) -> Result<Start, Box<dyn Error>> {
    let until = Instant::now() + BOUND;
    while TcpStream::connect(front).await.is_err() {
        if Instant::now() > until {
            return Err("the emulator does not listen".into());
        }
        sleep(Duration::from_millis(10)).await;
    }
    let url = format!("http://{front}/2015-03-31/functions/function/invocations");
    let client = reqwest::Client::builder().timeout(BOUND).build()?;
    let answer: Value = client.post(url).json(event).send().await?.json().await?;
    if !is_fine(&answer) {
        return Err(format!("the function answered {answer}").into());
    }
    Ok(Start {
        init_ms: milliseconds(log, "INIT REPORT(", "durationMs: ").await?,
        call_ms: milliseconds(log, "INVOKE RTDONE(", "duration: ").await?,
        peak_rss_bytes: peak_rss(emulator)?,
    })
}

/// Only a call that did its work is measured.
fn is_fine(answer: &Value) -> bool {
    let status = answer["statusCode"].as_u64();
    answer.is_null() || answer["ok"] == true || status.is_some_and(|status| (200..300).contains(&status))
}

/// A number from the log, once the line is there.
async fn milliseconds(log: &Log, line: &str, name: &str) -> Result<f64, Box<dyn Error>> {
    let until = Instant::now() + BOUND;
    loop {
        let found = said(log).into_iter().find(|said| said.contains(line));
        if let Some(rest) = found.as_deref().and_then(|said| said.split(name).nth(1)) {
            let digits: String = rest
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            return Ok(digits.parse()?);
        }
        if Instant::now() > until {
            return Err(format!("the emulator never said {line}").into());
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// The most memory that the emulator's child, the function, has held so far.
fn peak_rss(emulator: u32) -> Result<u64, Box<dyn Error>> {
    for process in fs::read_dir("/proc")? {
        // Other processes come and go meanwhile.
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

/// Politely, since the emulator then ends its child as well.
async fn end(child: &mut Child) -> Result<(), Box<dyn Error>> {
    if let Some(pid) = child.id() {
        Command::new("kill")
            .args(["-TERM", &pid.to_string()])
            .status()
            .await?;
    }
    timeout(BOUND, child.wait()).await??;
    Ok(())
}

fn collect(log: &Log, output: impl AsyncRead + Send + Unpin + 'static) {
    let log = log.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
}

fn said(log: &Log) -> Vec<String> {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Two that nobody listens on; free until somebody else takes them, which nobody here does.
fn free_addresses() -> Result<[String; 2], Box<dyn Error>> {
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let [front, runtime] = &listeners;
    Ok([front.local_addr()?.to_string(), runtime.local_addr()?.to_string()])
}
