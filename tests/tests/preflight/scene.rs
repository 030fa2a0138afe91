//! A stack whose admin function is the real one, on a Redis of its own, in an account that is ready.

use std::sync::Arc;

use tempfile::TempDir;
use vestibule_admin::{Admin, SigningKeys};
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::{id::RootKey, key_ring::KeyRing, preflight::Outcome};
use vestibule_engine::{key_store::FixedKey, sync::SettingsPolicy};
use vestibule_line::Line;
use vestibule_tests::{own_redis::OwnRedis, preflight::PreflightRun};

use crate::fake_account::{Account, FakeAccount};

/// The access string of the user of the line, as in `template.yaml` for a node, whose user may ask for `INFO`.
const RIGHTS: [&str; 7] = [
    "on",
    "nopass",
    "~vestibule:*",
    "&vestibule:*",
    "+@all",
    "-@admin",
    "-@dangerous",
];
const USER: &str = "line";

pub(crate) struct Scene {
    pub redis: OwnRedis,
    pub account: FakeAccount,
    _folder: TempDir,
}

impl Scene {
    /// A scene in which everything is ready.
    pub(crate) async fn ready() -> Self {
        Self::with_servers(|admin| admin).await
    }

    /// A scene whose admin function has other servers.
    pub(crate) async fn with_servers(replace: impl FnOnce(Admin) -> Admin) -> Self {
        Self::with_redis(OwnRedis::start(), replace).await
    }

    /// A scene with this Redis, whose admin function has other servers.
    pub(crate) async fn with_redis(redis: OwnRedis, replace: impl FnOnce(Admin) -> Admin) -> Self {
        drop(redis.line().await);
        redis.set_rights(&[]);
        let folder = tempfile::tempdir().expect("a folder");
        let backup = FileBackup::open(folder.path().join("backup.redb")).expect("a new store");
        let line = Line::connect_lazily(&redis.url_for_user(USER), None).expect("an address");
        let backup: Arc<dyn Backup> = Arc::new(backup);
        let ring = KeyRing::single("a".repeat(64));
        let admin = Admin {
            line,
            backup,
            root_key: RootKey::new(vec![1; 32]).expect("long enough").into(),
            policy: SettingsPolicy::default(),
            signing_keys: SigningKeys {
                store: Arc::new(FixedKey(ring)),
                cache_seconds: 300,
            },
        };
        let account = FakeAccount::start(Account::ready(), replace(admin)).await;
        Self {
            redis,
            account,
            _folder: folder,
        }
    }

    /// Runs the preflight.
    pub(crate) async fn run(&self, arguments: &[&str]) -> PreflightRun {
        let url = self.account.url.clone();
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        // The server of the test answers meanwhile.
        let run = tokio::task::spawn_blocking(move || {
            let variables = [("AWS_ENDPOINT_URL", url.as_str()), ("AWS_REGION", "eu-central-1")];
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            PreflightRun::of_stack("shop", &variables, &arguments)
        });
        run.await.expect("it ran")
    }

    /// Runs the preflight, which must find a fault in these checks and in no others.
    pub(crate) async fn expect_faults(&self, checks: &[&str]) {
        let run = self.run(&["--json"]).await;
        assert_eq!(run.checks_with(Outcome::Fault), checks, "{run:?}");
        assert_eq!(run.code, i32::from(!checks.is_empty()), "{run:?}");
    }

    /// The text of a finding and its remedy.
    pub(crate) async fn finding(&self, check: &str) -> (String, String) {
        let findings = self.run(&["--json"]).await.findings();
        let finding = findings
            .into_iter()
            .find(|finding| finding.check == check)
            .expect(check);
        (finding.found, finding.remedy.unwrap_or_default())
    }
}

/// Changes of the user of the line.
pub(crate) trait SetRights {
    /// Gives the user of the line the rights of the template and `INFO`, and then changes them.
    fn set_rights(&self, changes: &[&str]);
}

impl SetRights for OwnRedis {
    fn set_rights(&self, changes: &[&str]) {
        let command = ["acl", "setuser", USER, "reset"];
        self.run(&[&command, &RIGHTS[..], &["+info"], changes].concat());
    }
}
