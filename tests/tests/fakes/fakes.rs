//! A client that puts fakes in line.

use std::{error::Error, str, time::Duration};

use futures_util::future::try_join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};
use uuid::Uuid;

/// The connections of the client. More would only wait for each other.
const CONNECTIONS: usize = 64;
/// The pause after a refusal.
const PAUSE: Duration = Duration::from_millis(200);

type FakesError = Box<dyn Error + Send + Sync>;

/// Enters the queue as this many visitors, each once. The client writes its requests itself, because 100,000 requests
/// of a library would take the processors from the server.
pub(crate) async fn add_fakes(server: &str, queue: &str, count: usize) -> Result<(), FakesError> {
    let connections = (0..CONNECTIONS).map(|number| {
        let share = count / CONNECTIONS + usize::from(number < count % CONNECTIONS);
        let (server, queue) = (server.to_owned(), queue.to_owned());
        async move { tokio::spawn(async move { send_share(&server, &queue, share).await }).await? }
    });
    try_join_all(connections).await?;
    Ok(())
}

/// Tries to enter the queue as this many visitors, each once. Returns how many got a place.
pub(crate) async fn try_fakes(server: &str, queue: &str, count: usize) -> Result<u64, FakesError> {
    let connections = (0..CONNECTIONS).map(async |_| {
        let mut stream = connect(server).await?;
        let mut entered = 0;
        for _ in 0..count / CONNECTIONS {
            match enter(&mut stream, server, queue, Uuid::new_v4()).await? {
                201 => entered += 1,
                503 => {}
                other => return Err::<u64, FakesError>(format!("a fake got {other}").into()),
            }
        }
        Ok(entered)
    });
    Ok(try_join_all(connections).await?.into_iter().sum())
}

async fn send_share(server: &str, queue: &str, count: usize) -> Result<(), FakesError> {
    let mut stream = connect(server).await?;
    for _ in 0..count {
        let visitor = Uuid::new_v4();
        loop {
            match enter(&mut stream, server, queue, visitor).await? {
                200 | 201 => break,
                429 | 503 => sleep(PAUSE).await,
                other => return Err(format!("a fake was refused with {other}").into()),
            }
        }
    }
    Ok(())
}

async fn connect(server: &str) -> Result<TcpStream, FakesError> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Enters as this visitor, and returns the status of the answer.
async fn enter(stream: &mut TcpStream, server: &str, queue: &str, visitor: Uuid) -> Result<u16, FakesError> {
    let request = format!(
        "POST /queues/{queue}/entries HTTP/1.1\r\nhost: {server}\r\ncontent-type: application/json\r\n\
         x-visitor-id: {visitor}\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await?;
    read_status(stream).await
}

/// Reads a whole answer, and returns its status.
async fn read_status(stream: &mut TcpStream) -> Result<u16, FakesError> {
    let mut read = Vec::with_capacity(1_024);
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Err("the server closed the connection".into());
        }
        let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = str::from_utf8(&read[..end])?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.ok_or("the answer has no content-length")?.parse()?;
        if read.len() >= end + 4 + length {
            let status = head.get(9..12).ok_or("the answer has no status")?;
            return Ok(status.parse()?);
        }
    }
}
