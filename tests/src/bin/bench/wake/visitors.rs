//! The visitors, in a process of their own. The client is as small as possible, so that the API is measured.

use std::{
    env,
    net::SocketAddr,
    process::Stdio,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    process::{Child, ChildStdout, Command},
    time::{Instant, sleep, sleep_until},
};

use uuid::Uuid;

use crate::BenchResult;

/// The number of connections that are opened at the same time.
const CONCURRENT_CALLS: usize = 50;
const POLL_PAUSE: Duration = Duration::from_millis(500);
/// The polls start within this time.
const ARRIVAL_SPREAD: Duration = Duration::from_secs(2);
/// As long as a poll is held.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// How the visitors wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PollMode {
    /// One poll that is held.
    Held,
    /// Polls that are not held, one after the other.
    Polling,
}

impl FromStr for PollMode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "held" => Ok(Self::Held),
            "polling" => Ok(Self::Polling),
            _ => Err("the mode is held or polling"),
        }
    }
}

/// A visitor in line, and the path of the entry. Only polls that name the visitor are held.
#[derive(Debug)]
pub(crate) struct Poller {
    pub(crate) entry_path: String,
    pub(crate) visitor: Uuid,
}

impl Poller {
    fn to_line(&self) -> String {
        format!("{} {}", self.entry_path, self.visitor)
    }

    fn from_line(line: &str) -> BenchResult<Self> {
        let (entry_path, visitor) = line.split_once(' ').ok_or("a path and a visitor id")?;
        Ok(Self {
            entry_path: entry_path.to_owned(),
            visitor: visitor.parse()?,
        })
    }
}

/// A call: the claim deadline names the tick, and the time is when the visitor read it, in Unix microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) claim_by_ms: u64,
    pub(crate) at_us: u64,
}

/// Visitors who are in line and have started to poll.
pub(crate) struct Visitors {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Visitors {
    /// Opens a connection for each visitor and starts to poll.
    pub(crate) async fn start(server: SocketAddr, mode: PollMode, pollers: &[Poller]) -> BenchResult<Self> {
        let mut process = Command::new(env::current_exe()?)
            .args([
                "wake",
                "--visitors",
                &format!("{mode:?}").to_lowercase(),
                &server.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut tell = process.stdin.take().ok_or("piped")?;
        let lines: Vec<_> = pollers.iter().map(Poller::to_line).collect();
        tell.write_all(lines.join("\n").as_bytes()).await?;
        drop(tell);
        let mut output = BufReader::new(process.stdout.take().ok_or("piped")?).lines();
        output
            .next_line()
            .await?
            .ok_or("the process of the visitors ended early")?;
        Ok(Self { process, output })
    }

    /// The calls that the visitors received, once all have ended.
    pub(crate) async fn answers(mut self) -> BenchResult<Vec<Call>> {
        let mut calls = Vec::new();
        while let Some(line) = self.output.next_line().await? {
            let (claim_by_ms, at_us) = line.split_once(' ').ok_or("two numbers")?;
            calls.push(Call {
                claim_by_ms: claim_by_ms.parse()?,
                at_us: at_us.parse()?,
            });
        }
        if self.process.wait().await?.success() {
            Ok(calls)
        } else {
            Err("the process of the visitors failed".into())
        }
    }
}

/// The delay of each answer to a visitor whom one of these ticks promoted, in microseconds.
pub(crate) fn delays(called: &[Call], answers: &[Call]) -> Vec<u64> {
    let delay = |answer: &Call| {
        let tick = called.iter().find(|tick| tick.claim_by_ms == answer.claim_by_ms);
        Some(answer.at_us.saturating_sub(tick?.at_us))
    };
    answers.iter().filter_map(delay).collect()
}

pub(crate) fn now_us() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX)
}

/// Runs the process of the visitors. It reads who they are from its standard input. It parses the answers and
/// closes the connections at the end, because both would take time from the API.
pub(crate) async fn run_process(mode: PollMode, server: SocketAddr) -> BenchResult {
    let lines = std::io::read_to_string(std::io::stdin())?;
    let visitors: Vec<Visitor> = stream::iter(lines.lines())
        .map(|line| async { Visitor::connect(server, Poller::from_line(line)?).await })
        .buffer_unordered(CONCURRENT_CALLS)
        .try_collect()
        .await?;
    println!("there");
    let waiting = visitors.into_iter().map(|visitor| {
        tokio::spawn(async move {
            match mode {
                PollMode::Held => visitor.poll_held().await,
                PollMode::Polling => visitor.poll_repeatedly().await,
            }
        })
    });
    let mut answers = Vec::new();
    for wait in waiting.collect::<Vec<_>>() {
        answers.push(wait.await??);
    }
    for (_, last) in answers {
        if let Some(Call { claim_by_ms, at_us }) = last.call()? {
            println!("{claim_by_ms} {at_us}");
        }
    }
    Ok(())
}

struct Visitor {
    stream: TcpStream,
    poller: Poller,
}

impl Visitor {
    async fn connect(server: SocketAddr, poller: Poller) -> BenchResult<Self> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, poller })
    }

    async fn poll_held(mut self) -> BenchResult<(Self, Answer)> {
        sleep(ARRIVAL_SPREAD.mul_f64(rand::random())).await;
        let answer = self.ask("?wait=20").await?;
        Ok((self, answer))
    }

    async fn poll_repeatedly(mut self) -> BenchResult<(Self, Answer)> {
        let stop = Instant::now() + TIME_LIMIT;
        sleep(ARRIVAL_SPREAD.mul_f64(rand::random())).await;
        let mut next = Instant::now();
        loop {
            let answer = self.ask("").await?;
            next += POLL_PAUSE;
            if next >= stop || answer.call()?.is_some() {
                return Ok((self, answer));
            }
            sleep_until(next).await;
        }
    }

    async fn ask(&mut self, query: &str) -> BenchResult<Answer> {
        let Poller { entry_path, visitor } = &self.poller;
        let request =
            format!("GET {entry_path}{query} HTTP/1.1\r\nhost: bench\r\nx-visitor-id: {visitor}\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await?;
        let mut read = Vec::with_capacity(1_024);
        loop {
            if self.stream.read_buf(&mut read).await? == 0 {
                return Err("the API closed the connection".into());
            }
            if let Some((is_ok, body)) = parse_answer(&read)? {
                let at_us = now_us();
                if is_ok {
                    let body = body.to_vec();
                    return Ok(Answer { body, at_us });
                }
                // An overloaded API asks the client to try again.
                sleep(POLL_PAUSE).await;
                return Box::pin(self.ask(query)).await;
            }
        }
    }
}

/// An answer, and when it was read.
struct Answer {
    body: Vec<u8>,
    at_us: u64,
}

impl Answer {
    /// The call in the answer. `None` if the turn has not come.
    fn call(&self) -> BenchResult<Option<Call>> {
        let entry: Value = serde_json::from_slice(&self.body)?;
        let claim_by_ms = entry["claim_by_ms"]
            .as_u64()
            .filter(|_| entry["state"] == "ready");
        let at_us = self.at_us;
        Ok(claim_by_ms.map(|claim_by_ms| Call { claim_by_ms, at_us }))
    }
}

/// Whether the status is 200, and the body, once all of it is there.
fn parse_answer(read: &[u8]) -> BenchResult<Option<(bool, &[u8])>> {
    let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let headers = str::from_utf8(&read[..end])?;
    let is_ok = match headers.get(..12) {
        Some("HTTP/1.1 200") => true,
        Some("HTTP/1.1 503") => false,
        _ => return Err(headers.into()),
    };
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .ok_or("the answer has no content-length")?;
    let body = &read[end + 4..];
    Ok((body.len() >= length.parse()?).then_some((is_ok, body)))
}
