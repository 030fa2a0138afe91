//! The keys of the local deployment. The first start creates them in the folder. Only their owner can read them.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;
use vestibule_api::{
    config::Keys,
    pass::{PassError, PassSigner, new_key_pem},
};
use vestibule_domain::id::RootKey;

/// The name of the store file in the folder.
pub(crate) const STORE_FILE: &str = "backup.redb";
/// The issuer in the passes.
const ISSUER: &str = "vestibule-local";

/// A key cannot be read or created, or it is invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("cannot read or create the key {0}: {1}")]
    File(PathBuf, io::Error),
    #[error("the key {0} has {1} bytes and needs at least 32")]
    TooShort(PathBuf, usize),
    #[error("the key {0} is invalid: {1}")]
    Invalid(PathBuf, PassError),
    #[error(
        "the store {0} has no root key beside it: put back the file root.key, from which the tokens of all its places \
         are derived, or move the store away to start with an empty one"
    )]
    NoRootKey(PathBuf),
}

/// Reads the keys of the folder and creates the missing ones. Refuses the folder of a store that has lost its root key:
/// with another one, its visitors would not get their places back.
pub(crate) fn load_or_create_keys(dir: &Path) -> Result<Keys, KeyError> {
    let root_path = dir.join("root.key");
    let store_path = dir.join(STORE_FILE);
    if store_path.exists() && !root_path.exists() {
        return Err(KeyError::NoRootKey(store_path));
    }
    let root = load_or_create_key(&root_path, || rand::random::<[u8; 32]>().to_vec())?;
    let pass_path = dir.join("pass-es256.pem");
    let pem = load_or_create_key(&pass_path, || new_key_pem(rand::random).into_bytes())?;
    Ok(Keys {
        root: RootKey::new(root).map_err(|bytes| KeyError::TooShort(root_path, bytes))?,
        signer: PassSigner::from_pem(ISSUER, &String::from_utf8_lossy(&pem))
            .map_err(|error| KeyError::Invalid(pass_path, error))?,
    })
}

fn load_or_create_key(path: &Path, create: impl Fn() -> Vec<u8>) -> Result<Vec<u8>, KeyError> {
    read_or_create_file(path, create).map_err(|error| KeyError::File(path.to_owned(), error))
}

fn read_or_create_file(path: &Path, create: impl Fn() -> Vec<u8>) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    // The key is written to a temporary file that only its owner can read, and then renamed: a crash leaves a
    // complete key or none. If another process created the key first, its key is used.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&create())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(lost) if lost.error.kind() == ErrorKind::AlreadyExists => {}
        Err(lost) => return Err(lost.error),
    }
    fs::File::open(folder)?.sync_all()?;
    fs::read(path)
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

    #[test]
    fn a_store_without_its_root_key_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join(STORE_FILE), "").expect("the store is written");
        let error = load_or_create_keys(dir.path()).expect_err("the key is lost");
        assert!(error.to_string().contains("root.key"), "{error}");
        assert!(!dir.path().join("root.key").exists(), "no other key is created");
        fs::remove_file(dir.path().join(STORE_FILE)).expect("the store is moved away");
        load_or_create_keys(dir.path()).expect("an empty folder gets its keys");
    }

    #[test]
    fn an_invalid_key_is_named_in_the_error() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        fs::write(dir.path().join("root.key"), "short").expect("the key is written");
        let error = load_or_create_keys(dir.path()).expect_err("the key is too short");
        assert!(error.to_string().contains("root.key"), "{error}");
    }
}
