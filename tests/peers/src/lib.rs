//! Where the peers are; `.ci/peers` installs them and says so in the environment.

use std::path::PathBuf;

/// The Python with the published SDK in it.
pub fn python() -> PathBuf {
    installed("PEER_PYTHON")
}

/// The published inspector.
pub fn inspector() -> PathBuf {
    installed("PEER_INSPECT")
}

/// The published example provider.
pub fn example_docs() -> PathBuf {
    installed("PEER_EXAMPLE_DOCS")
}

/// Our tool.
pub fn tool() -> PathBuf {
    installed("CONTEXTGRAPH")
}

fn installed(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => panic!("{variable} is not set: run .ci/peers"),
    }
}
