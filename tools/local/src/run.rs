//! The life of the process: it opens the line and the backup, continues or restores each queue, serves requests, and
//! stops in order.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tracing::warn;
use vestibule_admin::Admin;
use vestibule_api::{
    Services,
    config::{ApiConfig, ServiceRoutes},
    router,
};
use vestibule_backup::{Backup, BackupError, StoredQueue};
use vestibule_console::Console;
use vestibule_domain::id::{IdKey, RootKey};
use vestibule_engine::sync::{SettingsPolicy, SyncError};
use vestibule_promoter::Promoter;
use vestibule_promoter::event_bus::EventLog;
use vestibule_telemetry::emf::Metrics;

use crate::{
    cli::Cli, console, demo_visitors, error::StartError, keys, operations, pages, serve, stop::Stop,
    store::Stores, tickets::TicketKey,
};

/// Runs the process until it is stopped.
pub(crate) async fn run(cli: &Cli) -> Result<(), StartError> {
    let stop = Stop::on_signals().map_err(StartError::Signals)?;
    warn_of_useless_options(cli);
    std::fs::create_dir_all(&cli.dir).map_err(|error| StartError::Folder(cli.dir.clone(), error))?;
    let (keys, signing_keys) = keys::load_or_create_keys(&cli.dir, cli.key_cache_seconds).await?;
    let stores = Stores::open(cli).await?;
    // A start that finds the port taken changes nothing.
    let listener = listen(cli).await?;
    tie_queues_to_root_key(&*stores.backup, &keys.root).await?;
    let config = api_config(cli);
    let policy = SettingsPolicy::from(&config);
    stores.continue_line(policy).await?;
    let (line, backup) = (stores.line.clone(), stores.backup.clone());
    let events = EventLog {
        deployment: config.deployment.clone(),
    };
    let promoter = Promoter::new(line.clone(), backup.clone(), policy).with_event_bus(Arc::new(events));
    let promoter = Arc::new(promoter);
    restore_queues(&promoter).await?;
    let admin = Admin {
        line: line.clone(),
        backup: backup.clone(),
        root_key: keys.root.clone().into(),
        policy,
        signing_keys,
    };
    let ticket_keys = TicketKey::load_or_create(&cli.dir)?.to_jwk_set();
    create_demo_queue(&admin, ticket_keys).await?;
    let api = Services::new(
        line,
        backup,
        keys,
        config,
        stop.receiver(),
        Metrics::for_process(),
    );
    let admin = Arc::new(admin);
    let console = console::open(admin.clone());
    print_greeting(cli, &listener, &console)?;

    let all_routes = serve::all_routes(
        api.clone(),
        pages::routes(cli.web.clone()),
        operations::routes(admin).merge(vestibule_console::routes(console.clone())),
        cli.hosts.clone(),
    );
    let (served, (), (), ()) = tokio::join!(
        serve::serve(listener, all_routes, &stop),
        promoter.run(stop.wait()),
        console.run_sampler(stop.wait()),
        demo_visitors::run_demo_visitors(router(api), cli.demo_visitors, stop.clone()),
    );
    // Other processes may read the backup, so the rest of the journal goes there now.
    let flushed = promoter.flush_all().await;
    stores.stop_line().await;
    served.map_err(StartError::Serving)?;
    flushed.map_err(StartError::UnflushedJournal)
}

/// Warns of options that do nothing, although their author meant something by them.
fn warn_of_useless_options(cli: &Cli) {
    if let Some(folder) = cli.web.as_ref().filter(|folder| !folder.is_dir()) {
        warn!(event = "runner.no_web_folder", folder = %folder.display(), "--web names no folder, so the page has no theme");
    }
    for host in cli.hosts.iter().filter(|host| !is_host_name(host)) {
        warn!(
            event = "runner.no_host_name",
            host,
            "--hosts has no name of a host here, so no request has it; write the name alone, such as shop.test"
        );
    }
}

/// Whether the text is a name or an IPv4 address, without scheme, user and port.
fn is_host_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    text.split('.').all(is_part)
}

/// Only this machine can send requests, unless the user chose otherwise (`--listen`). The routes therefore need no guard, and a
/// queue may trust its callers.
fn api_config(cli: &Cli) -> ApiConfig {
    ApiConfig {
        origins: cli.cors.clone(),
        service_routes: ServiceRoutes::Unguarded,
        local: true,
        ..ApiConfig::default()
    }
}

/// Refuses to start with another root key than that of a stored queue, and records the key with a queue that has none. A
/// queue that cannot be read is not served, and [`restore_queues`] says so.
async fn tie_queues_to_root_key(backup: &dyn Backup, root: &RootKey) -> Result<(), StartError> {
    for queue in backup.list_queues().await? {
        let stored = match backup.read_queue(&queue).await {
            Ok(Some(stored)) => stored,
            Ok(None) | Err(BackupError::Unreadable(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let StoredQueue { metadata, .. } = stored;
        match IdKey::derive_for_queue(root, &queue, &metadata.salt) {
            Ok(_) => {
                backup
                    .record_root_key(&queue, metadata.epoch, root.fingerprint())
                    .await?;
            }
            Err(other) => return Err(StartError::RootKey(queue, other)),
        }
    }
    Ok(())
}

/// Restores each queue before the process serves requests. A queue with invalid stored settings is not served
/// until an operator corrects them, because its pace is unknown. The promoter logs the name of the field, and
/// the other queues are served.
async fn restore_queues(promoter: &Promoter) -> Result<(), StartError> {
    for (queue, outcome) in promoter.sync_all().await? {
        match outcome {
            Ok(_) | Err(SyncError::NotRestorable(_) | SyncError::Backup(BackupError::Unreadable(_))) => {}
            Err(error) => return Err(StartError::Queue(queue, error)),
        }
    }
    Ok(())
}

/// Creates the demo queue at the first start, for test tickets of this folder, too. Later starts leave it as the user
/// changed it.
async fn create_demo_queue(admin: &Admin, ticket_keys: Value) -> Result<(), StartError> {
    let queue = demo_visitors::QUEUE
        .parse()
        .expect("the name of the demo queue is a valid queue id");
    if admin.backup.read_queue(&queue).await?.is_some() {
        return Ok(());
    }
    let mut settings = demo_visitors::settings();
    settings["ticket_keys"] = ticket_keys;
    let command = json!({ "op": "create", "queue": demo_visitors::QUEUE, "settings": settings });
    let answer = admin.handle(command).await;
    match &answer["ok"] {
        Value::Bool(true) => Ok(()),
        _ => Err(StartError::Demo(answer["problem"]["detail"].to_string())),
    }
}

async fn listen(cli: &Cli) -> Result<TcpListener, StartError> {
    TcpListener::bind(SocketAddr::from((cli.listen, cli.port)))
        .await
        .map_err(|error| StartError::Port(cli.port, error))
}

fn print_greeting(cli: &Cli, listener: &TcpListener, console: &Console) -> Result<(), StartError> {
    let mut address = listener
        .local_addr()
        .map_err(|error| StartError::Port(cli.port, error))?;
    // A process that listens on all addresses is at this one, too.
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    println!("Vestibule is at http://{address}/");
    println!("The console of operators is at {}", console.page_address(address));
    if !cli.quiet {
        println!(
            "Try: curl -s -X POST -H 'Content-Type: application/json' -d '{{}}' http://{address}/queues/{}/entries",
            demo_visitors::QUEUE
        );
        println!(
            "And: curl -s -H 'Content-Type: application/json' -d '{{\"op\": \"list\"}}' http://{address}/_admin"
        );
        println!("Press Ctrl-C to stop: each visitor keeps the place. Press it twice to stop at once.");
    }
    Ok(())
}
