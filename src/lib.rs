//! The Context Graph Protocol (CGP) on threads and blocking IO.

pub mod clock;
pub mod codec;
pub mod compose;
pub mod digest;
pub mod error;
pub mod host;
pub mod provider;
pub mod transport;
pub mod wire;

pub use error::{Error, Result};
pub use host::{Host, HostConfig};
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "workspace")]
pub mod workspace;
