//! The file of the calls that functions may send, and the file of those that the tests of a run saw.

use std::{
    collections::HashSet,
    env,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
};

/// Says that a call that is not in the file is let through and recorded, instead of refused.
const RECORD: &str = "RECORD_AWS_CALLS";
/// Names the file to which each test process appends the calls that it sees. `infra/test.sh` sets it.
const SEEN_FILE: &str = "VESTIBULE_AWS_CALLS";

/// Begins the attributes of a call.
const ATTRIBUTES: &str = " attributes=";

static LISTED: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("aws-calls.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(str::to_owned).collect()
});

/// The calls that the functions of a deployment may send.
#[derive(Debug)]
pub(crate) struct KnownCalls {
    allowed: HashSet<String>,
    allows_others: bool,
    seen: Mutex<HashSet<String>>,
    seen_file: Option<PathBuf>,
}

impl KnownCalls {
    /// The calls of `tests/aws-calls.txt`, or all calls if the environment says that the file is written anew.
    pub(crate) fn from_file() -> Self {
        Self {
            allows_others: env::var_os(RECORD).is_some_and(|value| value == "yes"),
            seen_file: env::var_os(SEEN_FILE).map(PathBuf::from),
            ..Self::only(LISTED.clone())
        }
    }

    fn only(allowed: HashSet<String>) -> Self {
        Self {
            allowed,
            allows_others: false,
            seen: Mutex::default(),
            seen_file: None,
        }
    }

    /// These calls alone.
    #[cfg(test)]
    pub(super) fn of(calls: &[&str]) -> Self {
        Self::only(calls.iter().map(|call| (*call).to_owned()).collect())
    }

    /// Notes that a function sends this call. Returns whether it may.
    pub(super) fn admit(&self, call: &str) -> bool {
        if !self.allowed.contains(call) && !self.has_all_attributes(call) && !self.allows_others {
            return false;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains(call) {
            seen.insert(call.to_owned());
            if let Some(path) = &self.seen_file {
                append_line(path, call);
            }
        }
        true
    }
}

impl KnownCalls {
    /// Whether the listed calls of this kind have all attributes of this one. IAM asks for each attribute alone, so another
    /// choice of them needs no other right.
    fn has_all_attributes(&self, call: &str) -> bool {
        let Some((kind, attributes)) = call.split_once(ATTRIBUTES) else {
            return false;
        };
        let of_kind = self
            .allowed
            .iter()
            .filter_map(|known| known.strip_prefix(kind)?.strip_prefix(ATTRIBUTES));
        let listed: HashSet<&str> = of_kind.flat_map(|attributes| attributes.split(',')).collect();
        attributes.split(',').all(|attribute| listed.contains(attribute))
    }
}

/// One short write at the end of a file does not mix with those of other processes.
fn append_line(path: &Path, line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The sentence about a call that is not in the file.
pub(super) fn explain_unknown(call: &str) -> String {
    format!(
        "`{call}` is not in tests/aws-calls.txt. If the function is to send this call, add the line, and the right to \
         template.yaml. {RECORD}=yes make test writes the file anew"
    )
}
