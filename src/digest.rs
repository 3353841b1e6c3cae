//! SHA-256 of bytes, in the form of the wire, and what it is a digest of (D1, F5).

pub mod file_uri;
pub mod range;

use sha2::{Digest as _, Sha256};

use crate::wire::identity::Digest;

/// The digest of `bytes`, exactly as they are.
///
/// ```
/// use contextgraph_sync::digest::sha256;
///
/// let digest = sha256(b"Numbers restart every January.");
/// assert!(digest.as_str().starts_with("sha256:2e8a57b92f21"));
/// ```
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_sha256(&Sha256::digest(bytes).into())
}
