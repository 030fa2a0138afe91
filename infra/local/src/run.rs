//! From the start to the end of the process: opens the parts, puts every queue back, serves, and closes in order.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use vestibule_api::{
    ApiState,
    config::{ApiConfig, ServiceRoutes},
    router,
};
use vestibule_backup::BackupError;
use vestibule_engine::sync::{SettingsPolicy, SyncError};
use vestibule_operate::{admin::Admin, promoter::Promoter};

use crate::{cli::Cli, crowd, error::StartError, keys, operations, pages, serve, stop::Stop, store};

/// Runs the whole process.
pub(crate) async fn run(cli: &Cli) -> Result<(), StartError> {
    let stop = Stop::on_signals().map_err(StartError::Signals)?;
    std::fs::create_dir_all(&cli.dir).map_err(|error| StartError::Folder(cli.dir.clone(), error))?;
    let keys = keys::open(&cli.dir)?;
    let (backup, line) = (store::backup(cli).await?, store::line(cli).await?);
    let config = edge_config();
    let policy = SettingsPolicy::from(&config);
    let promoter = Arc::new(Promoter::new(line.clone(), backup.clone(), policy));
    put_back(&promoter).await?;
    let admin = Admin {
        line: line.clone(),
        backup: backup.clone(),
        root_key: keys.root.clone(),
        policy,
    };
    first_queue(&admin).await?;
    let edge = ApiState::new(line, backup, keys, config, stop.receiver());
    let listener = listen(cli).await?;

    let everything = serve::everything(edge.clone(), pages::routes(), operations::routes(admin));
    let (served, (), ()) = tokio::join!(
        serve::serve(listener, everything, &stop),
        promoter.run(stop.wait()),
        crowd::run(router(edge), cli.crowd, stop.clone()),
    );
    // The line in memory ends here: whatever only its journal knows goes to the backup now.
    let settled = promoter.flush_all().await;
    served.map_err(StartError::Serving)?;
    settled.map_err(StartError::Unsettled)
}

/// Only this machine can call: nobody guards the routes, and a queue may believe its callers.
fn edge_config() -> ApiConfig {
    ApiConfig {
        service_routes: ServiceRoutes::Unguarded,
        local: true,
        ..ApiConfig::default()
    }
}

/// Before anybody is let in, every queue stands as it stood. One whose stored settings are wrong stays out until they
/// are corrected, since nothing says how fast it may let people in: the promoter has said so in the log, with the name
/// of the field, and the other queues are served.
async fn put_back(promoter: &Promoter) -> Result<(), StartError> {
    for (queue, outcome) in promoter.sync_all().await? {
        match outcome {
            Ok(_) | Err(SyncError::NotRestorable(_) | SyncError::Backup(BackupError::Unreadable(_))) => {}
            Err(error) => return Err(StartError::Queue(queue, error)),
        }
    }
    Ok(())
}

/// The queue to look at, made at the first start: later ones leave it as its owner changed it.
async fn first_queue(admin: &Admin) -> Result<(), StartError> {
    let queue = crowd::QUEUE
        .parse()
        .expect("the name of the crowd's queue is one");
    if admin.backup.read_queue(&queue).await?.is_some() {
        return Ok(());
    }
    let order = json!({ "op": "create", "queue": crowd::QUEUE, "settings": crowd::settings() });
    let answer = admin.handle(order).await;
    match &answer["ok"] {
        Value::Bool(true) => Ok(()),
        _ => Err(StartError::Demo(answer["problem"]["detail"].to_string())),
    }
}

async fn listen(cli: &Cli) -> Result<TcpListener, StartError> {
    let taken = |error| StartError::Port(cli.port, error);
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, cli.port)))
        .await
        .map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    println!("Vestibule is at http://{address}/");
    if !cli.quiet {
        println!(
            "Try: curl -s -X POST -H 'Content-Type: application/json' -d '{{}}' http://{address}/queues/{}/entries",
            crowd::QUEUE
        );
        println!(
            "And: curl -s -H 'Content-Type: application/json' -d '{{\"op\": \"list\"}}' http://{address}/_admin"
        );
        println!("Ctrl-C ends it and keeps everybody's place, twice ends it at once.");
    }
    Ok(listener)
}
