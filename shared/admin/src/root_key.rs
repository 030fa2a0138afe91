//! The root key of an operator's commands. Only those that name a visitor need it, so the others work without it. Those that
//! draw a salt tie it to the key if they can.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use vestibule_domain::id::{RootKey, Salt};

/// Fetches the root key, or says why it cannot.
type FetchRootKey = Box<dyn Fn() -> BoxFuture<'static, Result<RootKey, String>> + Send + Sync>;

/// The root key, which the first command that needs it fetches. Clones share it.
#[derive(Clone)]
pub struct OperatorRootKey(Arc<Shared>);

struct Shared {
    known: OnceCell<RootKey>,
    fetch: FetchRootKey,
}

impl fmt::Debug for OperatorRootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorRootKey(***)")
    }
}

impl From<RootKey> for OperatorRootKey {
    fn from(key: RootKey) -> Self {
        Self::fetched_by(Box::new(move || Box::pin(std::future::ready(Ok(key.clone())))))
    }
}

impl OperatorRootKey {
    /// A key that is fetched when a command needs it. A command after a failure fetches again.
    pub fn fetched_by(fetch: FetchRootKey) -> Self {
        Self(Arc::new(Shared {
            known: OnceCell::new(),
            fetch,
        }))
    }

    /// Ties a new salt to the key. If the key cannot be read, the first process that has it does so later.
    pub(super) async fn tie(&self, salt: Salt) -> Salt {
        salt.with_root(self.get().await.ok().map(RootKey::fingerprint))
    }

    pub(super) async fn get(&self) -> Result<&RootKey, String> {
        self.0.known.get_or_try_init(|| (self.0.fetch)()).await
    }
}
