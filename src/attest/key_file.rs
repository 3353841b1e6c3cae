//! Where a secret key rests: one small file that nobody but its owner may read.
//!
//! A JSON object with `key_id`, `algorithm` and `secret_key`, the seed in lower-case hex. It is the
//! one part of this layer that touches the file system. On Unix a file is made with mode 0600 and
//! refused if it has come to be open to others; elsewhere it is as safe as the directory it is in.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::attest::sign::{Ed25519Signer, Signer as _};
use crate::attest::{ED25519, hex};

/// No key file comes near this; whatever is longer is something else.
const MAX_BYTES: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct Contents {
    key_id: String,
    algorithm: String,
    secret_key: String,
}

/// Writes a key to a new file. What is already there, be it a link, is never replaced.
///
/// # Errors
///
/// [`KeyFileError::Exists`] and [`KeyFileError::Io`].
pub fn write(path: &Path, signer: &Ed25519Signer) -> Result<(), KeyFileError> {
    let contents = Contents {
        key_id: signer.key_id().to_owned(),
        algorithm: ED25519.to_owned(),
        secret_key: hex::encode(signer.seed()),
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    only_for_the_owner(&mut options);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists {
            path: path.to_owned(),
        },
        _ => KeyFileError::io(path, error),
    })?;
    let written = serde_json::to_vec_pretty(&contents)
        .map_err(io::Error::from)
        .and_then(|text| file.write_all(&text))
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all());
    written.map_err(|error| {
        // Half a key is of no use, and would be in the way of the next attempt. If it cannot be
        // removed either, the first error says more.
        drop(fs::remove_file(path));
        KeyFileError::io(path, error)
    })
}

/// Reads the key in a file.
///
/// # Errors
///
/// [`KeyFileError::Exposed`] if others may read or write the file, [`KeyFileError::Malformed`] if
/// it holds no key, and [`KeyFileError::Io`].
pub fn read(path: &Path) -> Result<Ed25519Signer, KeyFileError> {
    let io = |error| KeyFileError::io(path, error);
    let file = File::open(path).map_err(io)?;
    // Asked of the open file: the path may mean another one a moment later.
    let metadata = file.metadata().map_err(io)?;
    let malformed = |reason| KeyFileError::Malformed {
        path: path.to_owned(),
        reason,
    };
    if !metadata.is_file() {
        return Err(malformed("not a file"));
    }
    let mode = open_to_others(&metadata);
    if mode != 0 {
        let path = path.to_owned();
        return Err(KeyFileError::Exposed { path, mode });
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).map_err(io)?;
    // The parser's own words may repeat what it read, and that is a secret.
    let contents: Contents = serde_json::from_slice(&text)
        .map_err(|_| malformed("not an object with key_id, algorithm and secret_key"))?;
    if contents.algorithm != ED25519 {
        return Err(malformed("algorithm is not ed25519"));
    }
    let seed = hex::decode(&contents.secret_key);
    let seed = seed.ok_or_else(|| malformed("secret_key is not 64 lower-case hex digits"))?;
    Ok(Ed25519Signer::from_seed(contents.key_id, &seed))
}

#[cfg(unix)]
fn only_for_the_owner(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    options.mode(0o600);
}

#[cfg(not(unix))]
fn only_for_the_owner(_options: &mut OpenOptions) {}

/// The mode of a file if anybody but its owner has any right to it, else 0.
#[cfg(unix)]
fn open_to_others(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;

    let mode = metadata.mode() & 0o777;
    if mode & 0o077 == 0 { 0 } else { mode }
}

#[cfg(not(unix))]
fn open_to_others(_metadata: &fs::Metadata) -> u32 {
    0
}

/// Why a key file was not written or not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyFileError {
    /// There is something at this path, and a key would be lost.
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Others may read or write the file, so the key is no secret any more.
    Exposed {
        /// Where.
        path: PathBuf,
        /// The rights it has.
        mode: u32,
    },
    /// The file holds no key.
    Malformed {
        /// Where.
        path: PathBuf,
        /// What is wrong, without a word of what was read.
        reason: &'static str,
    },
    /// The file system said no.
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl KeyFileError {
    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { path } => {
                write!(f, "{} is there already and is not replaced", path.display())
            }
            Self::Exposed { path, mode } => {
                let path = path.display();
                write!(f, "{path} is open to others (mode {mode:03o}); ")?;
                f.write_str("make a new key, or chmod 600 it if nobody can have read it")
            }
            Self::Malformed { path, reason } => {
                write!(f, "{} is no key file: {reason}", path.display())
            }
            Self::Io { path, .. } => write!(f, "cannot use key file {}", path.display()),
        }
    }
}

impl std::error::Error for KeyFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Exists { .. } | Self::Exposed { .. } | Self::Malformed { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{KeyFileError, read, write};
    use crate::attest::sign::{Ed25519Signer, Signer as _};

    /// A path of this test's own, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let name = format!("contextgraph-key-{}-{test}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_file(&self.0));
        }
    }

    fn signer() -> Ed25519Signer {
        Ed25519Signer::from_seed("k-2026", &[0xa5; 32])
    }

    #[test]
    fn a_key_comes_back() {
        let path = Scratch::new("back");
        write(&path.0, &signer()).unwrap();
        let read = read(&path.0).unwrap();
        assert_eq!(read.key_id(), "k-2026");
        assert_eq!(read.public_key(), signer().public_key());
        let again = write(&path.0, &signer()).unwrap_err();
        assert!(matches!(again, KeyFileError::Exists { .. }), "{again}");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_have_rights() {
        use std::os::unix::fs::PermissionsExt as _;

        let path = Scratch::new("rights");
        write(&path.0, &signer()).unwrap();
        let mode = fs::metadata(&path.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for (mode, is_fine) in [(0o400, true), (0o640, false), (0o602, false)] {
            fs::set_permissions(&path.0, fs::Permissions::from_mode(mode)).unwrap();
            match read(&path.0) {
                Ok(_) => assert!(is_fine, "{mode:o}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!is_fine && text.contains(&format!("{mode:o}")), "{text}");
                }
            }
        }
    }

    /// Puts a text at a path, for the owner alone.
    fn put(path: &Scratch, text: &str) {
        write(&path.0, &signer()).unwrap();
        fs::write(&path.0, text).unwrap();
    }

    #[test]
    fn what_is_no_key_is_refused_without_repeating_it() {
        let secret = "A5".repeat(32);
        for (at, text) in [
            format!(r#"{{"key_id":"k","algorithm":"ed25519","secret_key":"{secret}"}}"#),
            format!(r#"{{"key_id":"k","algorithm":"{secret}","secret_key":"00"}}"#),
            format!(r#"{{"key_id":"k","secret_key":"{secret}"}}"#),
            format!("\"{secret}\""),
            " ".repeat(10_000),
            String::new(),
        ]
        .iter()
        .enumerate()
        {
            let path = Scratch::new(&format!("bad-{at}"));
            put(&path, text);
            let error = read(&path.0).unwrap_err();
            assert!(matches!(error, KeyFileError::Malformed { .. }), "{error}");
            assert!(!format!("{error} {error:?}").contains(&secret), "{error}");
        }
    }

    #[test]
    fn a_directory_is_no_key_file() {
        let error = read(&std::env::temp_dir()).unwrap_err();
        assert!(!error.to_string().is_empty());
        let missing = read(&Scratch::new("missing").0).unwrap_err();
        assert!(std::error::Error::source(&missing).is_some());
    }
}
