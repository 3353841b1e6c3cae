//! From a frame to the 32 bytes that are signed (F7).
//!
//! Every part is hashed behind a tag of its own and with its length in front, so that no two
//! different inputs give one sequence of bytes, and no hash made for one purpose serves another.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::attest::hex;
use crate::wire::frame::{ContextFrame, Provenance};
use crate::wire::identity::Digest;

const GENESIS: &[u8] = b"contextgraph/attest/1/genesis";
const LINK: &[u8] = b"contextgraph/attest/1/link";
const FRAME: &[u8] = b"contextgraph/attest/1/frame";

/// What a signature is over: the commitment of one frame, or the root of a whole answer.
///
/// The signature is over these 32 bytes, not over their text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commitment([u8; 32]);

impl Commitment {
    /// Takes 32 bytes for a commitment.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the text of a digest: `sha256:` and 64 lower-case hex digits, nothing else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hex::decode(text.strip_prefix("sha256:")?).map(Self)
    }

    /// The bytes that are signed.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text that travels.
    #[must_use]
    pub fn to_digest(&self) -> Digest {
        Digest::from_sha256(&self.0)
    }
}

impl fmt::Display for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_digest().fmt(f)
    }
}

impl fmt::Debug for Commitment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commitment({self})")
    }
}

/// The head of a provenance chain, links in wire order: closest to the source first.
///
/// It depends on every link, on their order, and on which of their members are there at all;
/// members of a link that the protocol does not know are not covered.
#[must_use]
pub fn chain_head(links: &[Provenance]) -> [u8; 32] {
    let mut bytes = Vec::new();
    links
        .iter()
        .fold(Sha256::digest(GENESIS).into(), |head, link| {
            bytes.clear();
            bytes.extend_from_slice(LINK);
            bytes.extend_from_slice(&head);
            put_link(&mut bytes, link);
            Sha256::digest(&bytes).into()
        })
}

/// The commitment of a frame under the name its provider declared in the handshake.
///
/// It covers the frame's id, its `content_digest` as it stands, and its provenance. Title, content,
/// score and everything else are covered only as far as the digest covers them.
#[must_use]
pub fn frame_commitment(provider_name: &str, frame: &ContextFrame) -> Commitment {
    Commitment(Sha256::digest(preimage(provider_name, frame)).into())
}

fn preimage(provider_name: &str, frame: &ContextFrame) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(FRAME);
    put_text(&mut bytes, provider_name);
    put_text(&mut bytes, &frame.id);
    put_optional(&mut bytes, frame.content_digest.as_deref());
    bytes.extend_from_slice(&chain_head(&frame.provenance));
    bytes
}

fn put_link(bytes: &mut Vec<u8>, link: &Provenance) {
    put_text(bytes, link.kind.as_str());
    for member in [&link.uri, &link.range, &link.digest, &link.method, &link.by] {
        put_optional(bytes, member.as_deref());
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    // No line of the wire comes near 4 GiB, so a text that does cannot have been signed elsewhere.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// An absent text and an empty one are two things.
fn put_optional(bytes: &mut Vec<u8>, text: Option<&str>) {
    bytes.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(bytes, text);
    }
}

#[cfg(test)]
mod tests;
