//! The secrets of this deployment of one: made once, kept in the folder, readable by their owner alone.

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

/// Who the passes say made them.
const ISSUER: &str = "vestibule-local";

/// A key that can be neither read nor made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("cannot read or make the key {0}: {1}")]
    File(PathBuf, io::Error),
    #[error("the key {0} is {1} bytes long, and must be at least 32")]
    Short(PathBuf, usize),
    #[error("the key {0} cannot be used: {1}")]
    Wrong(PathBuf, PassError),
}

/// Reads the keys of a folder, and makes those that are not there.
pub(crate) fn open(dir: &Path) -> Result<Keys, KeyError> {
    let root_path = dir.join("root.key");
    let root = kept(&root_path, || rand::random::<[u8; 32]>().to_vec())?;
    let pass_path = dir.join("pass.pem");
    let pem = kept(&pass_path, || new_key_pem(rand::random()).into_bytes())?;
    Ok(Keys {
        root: RootKey::new(root).map_err(|bytes| KeyError::Short(root_path, bytes))?,
        signer: PassSigner::from_pem(ISSUER, &String::from_utf8_lossy(&pem))
            .map_err(|error| KeyError::Wrong(pass_path, error))?,
    })
}

fn kept(path: &Path, make: impl Fn() -> Vec<u8>) -> Result<Vec<u8>, KeyError> {
    read_or_make(path, make).map_err(|error| KeyError::File(path.to_owned(), error))
}

fn read_or_make(path: &Path, make: impl Fn() -> Vec<u8>) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        found => return found,
    }
    // Under another name first (which only its owner can read), then moved at once: a crash leaves a whole key or none.
    // Where another process was faster, its key is taken.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(&make())?;
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
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("root.key");
        let first = read_or_make(&path, || vec![1; 32]).expect("made");
        let again = read_or_make(&path, || vec![2; 32]).expect("read");
        assert_eq!((first, again), (vec![1; 32], vec![1; 32]));
        let mode = fs::metadata(&path).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(dir.path()).expect("readable").count(),
            1,
            "nothing else is left"
        );
    }

    #[test]
    fn a_broken_key_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("root.key"), "short").expect("written");
        let error = open(dir.path()).expect_err("refused");
        assert!(error.to_string().contains("root.key"), "{error}");
    }
}
