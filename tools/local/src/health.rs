//! Asks a running process for its health, as the health check of a container does. The image has no other program.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// A process that does not answer within this time is not healthy. It gives its own parts two seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);
/// The route closes the connection after its short answer.
const REQUEST: &[u8] = b"GET /_health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";

/// Prints what the process at this port answers, and exits with 0 if line and backup are available.
pub(crate) async fn print_health(port: u16) -> ExitCode {
    match timeout(ANSWER_TIMEOUT, ask(port)).await {
        Ok(Ok(answer)) => {
            let body = answer.rsplit("\r\n\r\n").next().unwrap_or_default();
            println!("{}", body.trim());
            ExitCode::from(u8::from(!is_healthy(&answer)))
        }
        Ok(Err(error)) => report(&error.to_string()),
        Err(_) => report("it did not answer in time"),
    }
}

async fn ask(port: u16) -> io::Result<String> {
    let mut connection = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    connection.write_all(REQUEST).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn is_healthy(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 ")
}

fn report(reason: &str) -> ExitCode {
    eprintln!("vestibule-local: no healthy process: {reason}");
    ExitCode::FAILURE
}
