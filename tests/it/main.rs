//! Behaviour through the public API and the real binaries.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[cfg(feature = "cli")]
mod cli;
mod host;
mod serve;
#[cfg(unix)]
mod stdio;
mod support;
mod temp_dir;
mod tidy;
#[cfg(feature = "workspace")]
mod workspace;
