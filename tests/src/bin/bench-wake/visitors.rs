//! The visitors: another process, and in it as little of a client as will do, so that what is measured is the edge.

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

use crate::Failure;

/// So many connect at once.
const ABREAST: usize = 50;
const POLLING: Duration = Duration::from_millis(500);
/// They come within this, and not all at once.
const ARRIVING: Duration = Duration::from_secs(2);
/// As long as a hold.
const PATIENCE: Duration = Duration::from_secs(20);

/// How they wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// One poll, held.
    Held,
    /// Asking again and again, never to be held.
    Polling,
}

impl FromStr for Manner {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text {
            "held" => Ok(Self::Held),
            "polling" => Ok(Self::Polling),
            _ => Err("visitors are held or polling".into()),
        }
    }
}

/// That somebody was called: by which tick, and when it was heard, in Unix microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) claim_by_ms: u64,
    pub(crate) at_us: u64,
}

/// A crowd on its way, each in line already.
pub(crate) struct Visitors {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Visitors {
    /// Each has a connection of its own to the edge there, and has begun to wait.
    pub(crate) async fn start(
        edge: SocketAddr,
        manner: Manner,
        entries: Vec<String>,
    ) -> Result<Self, Failure> {
        let mut process = Command::new(env::current_exe()?)
            .args([format!("{manner:?}").to_lowercase(), edge.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut tell = process.stdin.take().ok_or("piped")?;
        tell.write_all(entries.join("\n").as_bytes()).await?;
        drop(tell);
        let mut said = BufReader::new(process.stdout.take().ok_or("piped")?).lines();
        said.next_line().await?.ok_or("the visitors are there")?;
        Ok(Self { process, said })
    }

    /// What those heard who were called, once none of them waits any more.
    pub(crate) async fn answers(mut self) -> Result<Vec<Call>, Failure> {
        let mut calls = Vec::new();
        while let Some(line) = self.said.next_line().await? {
            let (claim_by_ms, at_us) = line.split_once(' ').ok_or("two numbers")?;
            calls.push(Call {
                claim_by_ms: claim_by_ms.parse()?,
                at_us: at_us.parse()?,
            });
        }
        if self.process.wait().await?.success() {
            Ok(calls)
        } else {
            Err("the visitors failed".into())
        }
    }
}

/// How long each of those waited for the answer whom one of these ticks called, in microseconds.
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

/// What the process of the visitors does: the entries are on its standard input. What they heard is read, and their
/// connections are closed, when all have heard: while they do, that would take from the edge what both run on.
pub(crate) async fn act(manner: Manner) -> Result<(), Failure> {
    let edge: SocketAddr = env::args().nth(2).ok_or("the edge's address")?.parse()?;
    let entries = std::io::read_to_string(std::io::stdin())?;
    let visitors: Vec<Visitor> = stream::iter(entries.lines())
        .map(|entry| Visitor::connect(edge, entry))
        .buffer_unordered(ABREAST)
        .try_collect()
        .await?;
    println!("there");
    let waiting = visitors.into_iter().map(|visitor| {
        tokio::spawn(async move {
            match manner {
                Manner::Held => visitor.holds().await,
                Manner::Polling => visitor.polls().await,
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
    entry: String,
}

impl Visitor {
    async fn connect(edge: SocketAddr, entry: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(edge).await?;
        stream.set_nodelay(true)?;
        let entry = entry.to_owned();
        Ok(Self { stream, entry })
    }

    async fn holds(mut self) -> Result<(Self, Answer), Failure> {
        sleep(ARRIVING.mul_f64(rand::random())).await;
        let answer = self.ask("?wait=20").await?;
        Ok((self, answer))
    }

    async fn polls(mut self) -> Result<(Self, Answer), Failure> {
        let stop = Instant::now() + PATIENCE;
        sleep(ARRIVING.mul_f64(rand::random())).await;
        let mut next = Instant::now();
        loop {
            let answer = self.ask("").await?;
            next += POLLING;
            if next >= stop || answer.call()?.is_some() {
                return Ok((self, answer));
            }
            sleep_until(next).await;
        }
    }

    async fn ask(&mut self, query: &str) -> Result<Answer, Failure> {
        let request = format!("GET {}{query} HTTP/1.1\r\nhost: bench\r\n\r\n", self.entry);
        self.stream.write_all(request.as_bytes()).await?;
        let mut read = Vec::with_capacity(1_024);
        loop {
            if self.stream.read_buf(&mut read).await? == 0 {
                return Err("the edge hung up".into());
            }
            if let Some((is_answered, body)) = answer(&read)? {
                let at_us = now_us();
                if is_answered {
                    let body = body.to_vec();
                    return Ok(Answer { body, at_us });
                }
                // Where all are late, it says so, and asks for patience.
                sleep(POLLING).await;
                return Box::pin(self.ask(query)).await;
            }
        }
    }
}

/// What a visitor heard, and when.
struct Answer {
    body: Vec<u8>,
    at_us: u64,
}

impl Answer {
    /// Nothing where the turn had not come.
    fn call(&self) -> Result<Option<Call>, Failure> {
        let entry: Value = serde_json::from_slice(&self.body)?;
        let claim_by_ms = entry["claim_by_ms"]
            .as_u64()
            .filter(|_| entry["state"] == "ready");
        let at_us = self.at_us;
        Ok(claim_by_ms.map(|claim_by_ms| Call { claim_by_ms, at_us }))
    }
}

/// Whether all is well, and what stands behind the headers, where all of it is there.
fn answer(read: &[u8]) -> Result<Option<(bool, &[u8])>, Failure> {
    let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let headers = str::from_utf8(&read[..end])?;
    let is_answered = match headers.get(..12) {
        Some("HTTP/1.1 200") => true,
        Some("HTTP/1.1 503") => false,
        _ => return Err(headers.into()),
    };
    let length = headers
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .ok_or("an answer has a length")?;
    let body = &read[end + 4..];
    Ok((body.len() >= length.parse()?).then_some((is_answered, body)))
}
