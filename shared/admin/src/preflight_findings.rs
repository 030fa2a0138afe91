//! What the answers of the servers mean for a sale. These rules are pure.

use vestibule_domain::{id::QueueId, preflight::Finding};
use vestibule_line::{
    COMMAND_WORDS_MAX, EvictionPolicy, ScriptAnswers, ServerAnswers, ServerLogin, ServerMemory,
};

/// The share of the memory of the line's server from which on it is too full for a sale, in percent.
const MEMORY_PERCENT_MAX: u64 = 50;

/// How many queues a finding names.
const QUEUES_SHOWN_MAX: usize = 5;

/// Commands whose rights `line-time` and `line-subscription` show.
const COMMANDS_WITH_A_CHECK: [&str; 4] = ["TIME", "HELLO", "SSUBSCRIBE", "SPUBLISH"];

/// What the servers of a deployment answered. An error is the reason why a server did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServersAnswers {
    /// `None` if the line has no server.
    pub(super) line: Result<Option<ServerAnswers>, String>,
    /// A conditional write of an entry.
    pub(super) entries: Result<(), String>,
    /// A read and a conditional write of a queue.
    pub(super) queues: Result<(), String>,
    pub(super) signing_key: KeyAnswer,
    pub(super) root_key: RootKeyAnswer,
}

/// What was found of the root key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RootKeyAnswer {
    /// It can be read. These queues were made with another one.
    Readable { others: Vec<QueueId> },
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// The queues cannot be read, for this reason.
    Unknown(String),
}

/// What the store of the signing keys answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyAnswer {
    /// A key signs passes. The ring has this many keys.
    Signing { keys: usize },
    /// No key can sign, for this reason.
    Unusable(String),
}

/// Decides what the answers mean. Each check has one finding.
pub(super) fn decide_findings(answers: &ServersAnswers) -> Vec<Finding> {
    let mut findings = match &answers.line {
        Ok(Some(server)) => server_findings(server),
        Ok(None) => vec![Finding::ok(
            "line-server",
            "the line is in the memory of this process",
        )],
        Err(reason) => vec![Finding::fault(
            "line-server",
            reason,
            "let the functions reach Redis: the address, the security groups, and the user of the line",
        )],
    };
    findings.extend([
        table_finding("backup-entries", "entries", &answers.entries),
        table_finding("backup-queues", "queues", &answers.queues),
        key_finding(&answers.signing_key),
        root_key_finding(&answers.root_key),
    ]);
    findings
}

fn server_findings(server: &ServerAnswers) -> Vec<Finding> {
    let mut findings = vec![
        version_finding(&server.script),
        login_finding(server.login, server.user.as_deref()),
    ];
    if let Ok(script) = &server.script {
        findings.push(time_finding(&script.time));
        findings.push(commands_finding(script.refused_commands.as_deref()));
    }
    findings.extend([
        arguments_finding(&server.long_command),
        subscription_finding(&server.subscription),
        eviction_finding(&server.eviction),
        memory_finding(server.memory),
    ]);
    findings
}

fn version_finding(script: &Result<ScriptAnswers, String>) -> Finding {
    match script {
        Ok(script) => Finding::ok("line-server", format!("{} runs the scripts", script.version)),
        Err(reason) => Finding::fault(
            "line-server",
            format!("the server does not run the scripts: {reason}"),
            "use Redis 7 or Valkey, with the rights to EVALSHA, SCRIPT LOAD, keys vestibule:* and channels vestibule:* \
             for the user of the line",
        ),
    }
}

fn login_finding(login: ServerLogin, user: Option<&str>) -> Finding {
    let user = user.map_or_else(
        || "a user that may not ask for its name".to_owned(),
        |user| format!("user {user}"),
    );
    let how = match login {
        ServerLogin::Iam => "a token of IAM",
        ServerLogin::Address => "the address",
    };
    Finding::ok("line-login", format!("logged in as {user} by {how}"))
}

fn time_finding(time: &Result<(), String>) -> Finding {
    match time {
        Ok(()) => Finding::ok("line-time", "scripts read the server's clock"),
        Err(reason) => Finding::fault(
            "line-time",
            format!("the server refuses TIME inside scripts: {reason}"),
            "allow TIME to the user of the line (+time): each call costs a second round trip without it",
        ),
    }
}

fn commands_finding(refused: Option<&[String]>) -> Finding {
    const CHECK: &str = "line-commands";
    let Some(refused) = refused else {
        return Finding::unknown(
            CHECK,
            "the server does not tell what its user may send",
            "compare the access string of the user with the one in template.yaml (CacheUser)",
        );
    };
    let refused: Vec<_> = refused
        .iter()
        .filter(|name| !COMMANDS_WITH_A_CHECK.contains(&name.as_str()))
        .map(String::as_str)
        .collect();
    if refused.is_empty() {
        return Finding::ok(CHECK, "the user of the line may send every command");
    }
    let commands = refused.join(", ");
    Finding::fault(
        CHECK,
        format!("the user of the line may not send {commands}"),
        "give the user the access string of template.yaml: on ~vestibule:* &vestibule:* +@all -@admin -@dangerous",
    )
}

fn arguments_finding(long_command: &Result<(), String>) -> Finding {
    const CHECK: &str = "line-arguments";
    match long_command {
        Ok(()) => Finding::ok(
            CHECK,
            format!("the server takes commands of {COMMAND_WORDS_MAX} words"),
        ),
        Err(reason) => Finding::fault(
            CHECK,
            format!("the server refused a command of {COMMAND_WORDS_MAX} words: {reason}"),
            "use a server that takes commands of this length: a restore adds 1,000 entries at once",
        ),
    }
}

fn subscription_finding(subscription: &Result<(), String>) -> Finding {
    const CHECK: &str = "line-subscription";
    match subscription {
        Ok(()) => Finding::ok(CHECK, "RESP3 and sharded pub/sub deliver a message of a script"),
        Err(reason) => Finding::fault(
            CHECK,
            format!("no message of a script arrives by RESP3 and sharded pub/sub: {reason}"),
            "allow HELLO, SSUBSCRIBE, SPUBLISH and the channels vestibule:* to the user of the line: held polls end a \
             second late without them",
        ),
    }
}

fn eviction_finding(policy: &EvictionPolicy) -> Finding {
    const CHECK: &str = "line-eviction";
    match policy {
        EvictionPolicy::NoEviction => Finding::ok(CHECK, "maxmemory-policy is noeviction"),
        EvictionPolicy::Evicts(policy) => Finding::fault(
            CHECK,
            format!("maxmemory-policy is {policy}, by which a full server deletes whole lines"),
            "set maxmemory-policy to noeviction",
        ),
        EvictionPolicy::Unknown => Finding::unknown(
            CHECK,
            "the user of the line may not ask for maxmemory-policy",
            "look it up in the parameter group of the cache, or with CONFIG GET maxmemory-policy: it must be noeviction, or \
             volatile-lru for a serverless cache",
        ),
    }
}

fn memory_finding(memory: Option<ServerMemory>) -> Finding {
    const CHECK: &str = "line-memory";
    let Some(ServerMemory {
        used_bytes,
        max_bytes,
    }) = memory
    else {
        return Finding::unknown(
            CHECK,
            "the user of the line may not ask for the memory",
            "compare BytesUsedForCache, or DatabaseMemoryUsagePercentage, with the limit: half of it must be free before a sale",
        );
    };
    let used = mb(used_bytes);
    if max_bytes == 0 {
        return Finding::ok(CHECK, format!("{used} MB used, and the server sets no limit"));
    }
    let percent = used_bytes.saturating_mul(100) / max_bytes;
    let found = format!("{used} of {} MB used, {percent} %", mb(max_bytes));
    if percent > MEMORY_PERCENT_MAX {
        let remedy = format!(
            "raise CacheStorageGbMax, or take a larger node: more than {MEMORY_PERCENT_MAX} % must not be used before a sale"
        );
        Finding::fault(CHECK, found, remedy)
    } else {
        Finding::ok(CHECK, found)
    }
}

/// Megabytes, rounded up.
fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

fn table_finding(check: &str, table: &str, written: &Result<(), String>) -> Finding {
    match written {
        Ok(()) => Finding::ok(
            check,
            format!("the table of the {table} takes conditional writes"),
        ),
        Err(reason) => Finding::fault(
            check,
            format!("the table of the {table} cannot be used: {reason}"),
            "let the role of the functions read and write the table, and the functions reach DynamoDB by an endpoint or a \
             NAT gateway",
        ),
    }
}

fn key_finding(key: &KeyAnswer) -> Finding {
    const CHECK: &str = "signing-key";
    match key {
        KeyAnswer::Signing { keys: 1 } => Finding::ok(CHECK, "one key signs passes"),
        KeyAnswer::Signing { keys } => Finding::ok(CHECK, format!("a key signs passes; the ring has {keys}")),
        KeyAnswer::Unusable(reason) => Finding::fault(
            CHECK,
            reason,
            "put the key back into the secret of SigningKeySecretArn or SigningKeySecret, and let the roles of the functions \
             read it",
        ),
    }
}

fn root_key_finding(key: &RootKeyAnswer) -> Finding {
    const CHECK: &str = "root-key";
    match key {
        RootKeyAnswer::Readable { others } if others.is_empty() => {
            Finding::ok(CHECK, "no queue was made with another root key")
        }
        RootKeyAnswer::Readable { others } => {
            let shown: Vec<_> = others
                .iter()
                .take(QUEUES_SHOWN_MAX)
                .map(QueueId::as_str)
                .collect();
            let more = if others.len() > shown.len() {
                " and others"
            } else {
                ""
            };
            let (count, names) = (others.len(), shown.join(", "));
            Finding::fault(
                CHECK,
                format!(
                    "{count} of the queues were made with another root key, and nothing is served for them: {names}{more}"
                ),
                "put the former key back into the secret of RootKeySecretArn or RootKeySecret, or reset these queues, which \
                 empties them",
            )
        }
        RootKeyAnswer::Unreadable(reason) => Finding::fault(
            CHECK,
            reason,
            "put the key back into the secret of RootKeySecretArn or RootKeySecret, and let the roles of the functions read it",
        ),
        RootKeyAnswer::Unknown(reason) => Finding::unknown(
            CHECK,
            format!("the queues cannot be compared with the root key: {reason}"),
            "let the role of the admin function read the table of the queues, and run the preflight again",
        ),
    }
}

#[cfg(test)]
mod tests;
