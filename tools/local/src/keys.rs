//! The keys of the local deployment. The first start creates them in the folder. Only their owner can read them.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use tempfile::NamedTempFile;
use vestibule_admin::SigningKeys;
use vestibule_api::{
    config::Keys,
    origin_key::LiveOriginKey,
    pass::{PassKeys, PassKeysError, new_key_pem},
};
use vestibule_domain::{id::RootKey, key_ring::KeyRing};
use vestibule_engine::key_store::{KeyStore, KeyStoreError};

/// The name of the store file in the folder.
pub(crate) const STORE_FILE: &str = "backup.redb";
/// The file of the first signing key, as PEM.
const FIRST_KEY_FILE: &str = "pass-es256.pem";
/// The file of the key ring, once the keys were rotated. It contains the first key, too.
const KEY_RING_FILE: &str = "pass-keys.json";
/// The issuer in the passes.
const ISSUER: &str = "vestibule-local";

/// A key cannot be read or created, or it is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("cannot read or create the key {0}: {1}")]
    File(PathBuf, io::Error),
    #[error("the key {0} has {1} bytes and needs at least 32")]
    TooShort(PathBuf, usize),
    #[error("the key {0} is not a P-256 private key in PKCS#8, encoded as PEM")]
    Ticket(PathBuf),
    #[error("the signing keys in {0} are invalid: {1}")]
    Signing(PathBuf, PassKeysError),
    #[error(
        "the store {0} has no root key beside it: put back the file root.key, from which the tokens of all its places \
         are derived, or move the store away to start with an empty one"
    )]
    NoRootKey(PathBuf),
}

/// Reads the keys of the folder and creates the missing ones. The signing keys are read again when they are older than
/// `cache_seconds`. Refuses the folder of a store that has lost its root key:
/// with another one, its visitors would not get their places back.
pub(crate) async fn load_or_create_keys(
    dir: &Path,
    cache_seconds: u32,
) -> Result<(Keys, SigningKeys), KeyError> {
    let root_path = dir.join("root.key");
    let store_path = dir.join(STORE_FILE);
    if store_path.exists() && !root_path.exists() {
        return Err(KeyError::NoRootKey(store_path));
    }
    let root = load_or_create_key(&root_path, || rand::random::<[u8; 32]>().to_vec())?;
    let root = RootKey::new(root).map_err(|bytes| KeyError::TooShort(root_path, bytes))?;
    load_or_create_key(&dir.join(FIRST_KEY_FILE), || {
        new_key_pem(rand::random).into_bytes()
    })?;
    let store = Arc::new(FileKeyStore(dir.to_owned()));
    let passes = PassKeys::load(ISSUER, store.clone(), cache_seconds).await;
    let passes = passes.map_err(|error| KeyError::Signing(dir.to_owned(), error))?;
    let keys = Keys {
        root,
        passes,
        origin: LiveOriginKey::default(),
    };
    Ok((keys, SigningKeys { store, cache_seconds }))
}

/// The signing keys in a folder.
#[derive(Debug)]
struct FileKeyStore(PathBuf);

impl FileKeyStore {
    fn read_text(&self) -> io::Result<String> {
        match fs::read_to_string(self.0.join(KEY_RING_FILE)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::read_to_string(self.0.join(FIRST_KEY_FILE))
            }
            found => found,
        }
    }
}

#[async_trait]
impl KeyStore for FileKeyStore {
    async fn read(&self) -> Result<KeyRing, KeyStoreError> {
        let text = self
            .read_text()
            .map_err(|error| KeyStoreError::Unavailable(error.to_string()))?;
        Ok(KeyRing::parse(&text)?)
    }

    async fn write(&self, ring: &KeyRing) -> Result<(), KeyStoreError> {
        let written = write_durably(
            &self.0.join(KEY_RING_FILE),
            ring.to_json().as_bytes(),
            |file, path| file.persist(path).map(drop).map_err(|lost| lost.error),
        );
        written.map_err(|error| KeyStoreError::Unavailable(error.to_string()))
    }
}

pub(crate) fn load_or_create_key(path: &Path, create: impl Fn() -> Vec<u8>) -> Result<Vec<u8>, KeyError> {
    read_or_create_file(path, create).map_err(|error| KeyError::File(path.to_owned(), error))
}

fn read_or_create_file(path: &Path, create: impl Fn() -> Vec<u8>) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    // If another process created the key first, its key is used.
    write_durably(path, &create(), |file, path| match file.persist_noclobber(path) {
        Err(lost) if lost.error.kind() != ErrorKind::AlreadyExists => Err(lost.error),
        _ => Ok(()),
    })?;
    fs::read(path)
}

/// Writes a temporary file that only its owner can read, and then renames it: a crash leaves the complete text or what was
/// there before.
fn write_durably(
    path: &Path,
    text: &[u8],
    rename: impl FnOnce(NamedTempFile, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    rename(file, path)?;
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_created_once_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("root.key");
        let first = read_or_create_file(&path, || vec![1; 32]).expect("the key is created");
        let again = read_or_create_file(&path, || vec![2; 32]).expect("the key is read");
        assert_eq!((first, again), (vec![1; 32], vec![1; 32]));
        let mode = fs::metadata(&path).expect("the key exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(dir.path()).expect("the folder is readable").count(),
            1,
            "a temporary file is left"
        );
    }

    #[tokio::test]
    async fn a_store_without_its_root_key_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join(STORE_FILE), "").expect("the store is written");
        let error = load_or_create_keys(dir.path(), 1)
            .await
            .expect_err("the key is lost");
        assert!(error.to_string().contains("root.key"), "{error}");
        assert!(!dir.path().join("root.key").exists(), "no other key is created");
        fs::remove_file(dir.path().join(STORE_FILE)).expect("the store is moved away");
        load_or_create_keys(dir.path(), 1)
            .await
            .expect("an empty folder gets its keys");
    }

    #[tokio::test]
    async fn an_invalid_key_is_named_in_the_error() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("root.key"), "short").expect("the key is written");
        let error = load_or_create_keys(dir.path(), 1)
            .await
            .expect_err("the key is too short");
        assert!(error.to_string().contains("root.key"), "{error}");
    }

    #[tokio::test]
    async fn a_stored_ring_replaces_the_first_key_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (first, signing) = load_or_create_keys(dir.path(), 1).await.expect("created");
        let ring = signing.store.read().await.expect("one key");
        let times = vestibule_domain::key_ring::RotationTimes {
            key_cache_seconds: 1,
            pass_seconds_max: 60,
        };
        let rotated = ring.rotate("5".repeat(64), 1_000, times).expect("rotated");
        signing.store.write(&rotated).await.expect("written");
        assert_eq!(signing.store.read().await, Ok(rotated));
        let mode = fs::metadata(dir.path().join(KEY_RING_FILE))
            .expect("it exists")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let (second, _) = load_or_create_keys(dir.path(), 1).await.expect("read");
        let (before, after) = (first.passes.jwks().keys, second.passes.jwks().keys);
        assert_eq!(
            (before.len(), after.len()),
            (1, 1),
            "the first key retired long ago"
        );
        assert_ne!(before, after);
    }
}
