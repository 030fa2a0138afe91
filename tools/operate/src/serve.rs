//! The life of the process: it finds the stack, samples its queues, and serves the console until it is stopped.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use tokio::{net::TcpListener, sync::watch};
use vestibule_aws::admin_client::AdminFunction;
use vestibule_aws::stack::DeployedStack;
use vestibule_console::{Console, Deployment, DeploymentKind, operator_name, routes_for_loopback};
use vestibule_telemetry::stop_signals::StopSignals;

use crate::{cli::Cli, stack_admin::StackAdmin, start_error::StartError};

/// Runs the process until a signal stops it.
pub(crate) async fn run(cli: &Cli) -> Result<(), StartError> {
    let signals = StopSignals::listen().map_err(StartError::Signals)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, cli.port)))
        .await
        .map_err(|error| StartError::Port(cli.port, error))?;
    let console = open_console(&cli.stack).await?;
    let address = listener
        .local_addr()
        .map_err(|error| StartError::Port(cli.port, error))?;
    let page = console.page_address(address);
    println!("The console of {} is at {page}", cli.stack);
    println!("Only this address opens it: it has a key, which is new with each start.");
    println!("Press Ctrl-C to stop. The queues go on without it.");

    let (sender, stop) = watch::channel(false);
    tokio::spawn(send_on_signal(signals, sender));
    let server = axum::serve(listener, routes_for_loopback(console.clone()));
    let server = server.with_graceful_shutdown(wait_for_stop(stop.clone()));
    tokio::select! {
        served = server => served.map_err(StartError::Serving),
        // Nothing is lost with the answers under way: a command goes on in its function.
        () = console.run_sampler(wait_for_stop(stop)) => Ok(()),
    }
}

async fn open_console(name: &str) -> Result<Arc<Console>, StartError> {
    let endpoint = vestibule_aws::endpoint_from_env();
    let aws = vestibule_aws::load_config([endpoint.as_deref()]).await;
    let stack = DeployedStack::read(&aws, endpoint.as_deref(), name).await?;
    let connect = |name: &str| AdminFunction::new(&aws, name.to_owned(), endpoint.as_deref());
    let by_right = |right| connect(stack.admin_function_for(right));
    let admin = StackAdmin::find(by_right, connect(&stack.admin_function)).await?;
    let deployment = Deployment {
        kind: DeploymentKind::Stack,
        name: name.to_owned(),
        page_url: stack.page_url(),
        region: Some(stack.region),
    };
    Ok(Console::new(Arc::new(admin), deployment, operator_name()))
}

async fn send_on_signal(mut signals: StopSignals, stop: watch::Sender<bool>) {
    signals.next().await;
    // Without a receiver, the process is about to end.
    let _ = stop.send(true);
}

async fn wait_for_stop(mut stop: watch::Receiver<bool>) {
    // If the sender is gone, no signal can arrive any more. This counts as a stop.
    let _ = stop.wait_for(|stop| *stop).await;
}
