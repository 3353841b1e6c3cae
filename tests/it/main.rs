//! Behaviour through the public API and the real binaries.

mod host;
mod support;
