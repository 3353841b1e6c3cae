//! Signing for providers: the key, wherever it lives, and the evidence of a whole answer.

use std::collections::HashSet;
use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};

use crate::attest::commitment::{Commitment, frame_commitment};
use crate::attest::key::PublicKey;
use crate::attest::merkle::{MerkleTree, leaf_order};
use crate::attest::{ED25519, hex};
use crate::wire::attestation::{AttesterKey, FrameAttestation, ProvenanceAttestation};
use crate::wire::frame::ContextFrame;
use crate::wire::identity::{FrameId, ProviderId};
use crate::wire::query::ContextQueryResult;
use crate::wire::text::shown;
use crate::wire::time::Timestamp;

/// Somebody who can sign with one Ed25519 key: this process, a token, an agent.
///
/// Implemented where the key lives; called from the thread that answers a query, once for each
/// signature. Signatures are plain Ed25519 over the message as it is, without hashing it first.
pub trait Signer: Send + Sync {
    /// What attestations call the key; a rotated key has a new id.
    fn key_id(&self) -> &str;

    /// The public part.
    fn public_key(&self) -> PublicKey;

    /// Signs 32 bytes for a frame or an answer, 60 for a record.
    ///
    /// # Errors
    ///
    /// [`SignError`] if the key cannot be reached or used.
    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError>;
}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignError {
    key_id: String,
    reason: String,
}

impl SignError {
    /// The key with this id did not sign; `reason` is for the operator of the provider.
    #[must_use]
    pub fn new(key_id: &str, reason: impl fmt::Display) -> Self {
        Self {
            key_id: key_id.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// Which key.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key `{}`: {}", shown(&self.key_id), shown(&self.reason))
    }
}

impl std::error::Error for SignError {}

/// A key in the memory of this process. It is wiped when dropped.
#[derive(Clone)]
pub struct Ed25519Signer {
    key_id: String,
    key: SigningKey,
}

impl Ed25519Signer {
    /// The key that belongs to a seed.
    #[must_use]
    pub fn from_seed(key_id: impl Into<String>, seed: &[u8; 32]) -> Self {
        Self {
            key_id: key_id.into(),
            key: SigningKey::from_bytes(seed),
        }
    }

    /// A new key from the random numbers of the system.
    ///
    /// # Errors
    ///
    /// [`SignError`] if the system has none.
    pub fn generate(key_id: impl Into<String>) -> Result<Self, SignError> {
        let key_id = key_id.into();
        let mut seed = [0; 32];
        match getrandom::fill(&mut seed) {
            Ok(()) => Ok(Self::from_seed(key_id, &seed)),
            Err(error) => Err(SignError::new(&key_id, error)),
        }
    }

    /// The secret, for the file it is kept in.
    pub(super) fn seed(&self) -> &[u8; 32] {
        self.key.as_bytes()
    }
}

impl Signer for Ed25519Signer {
    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn public_key(&self) -> PublicKey {
        PublicKey::of(&self.key.verifying_key())
    }

    fn sign(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        Ok(self.key.sign(message).to_bytes())
    }
}

impl fmt::Debug for Ed25519Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ed25519Signer")
            .field("key_id", &self.key_id)
            .field("public_key", &self.public_key())
            .finish_non_exhaustive()
    }
}

/// What an answer carries for its frames (F13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A signature over each frame: every frame proves itself wherever it is taken.
    PerFrame,
    /// One signature over the root, and a proof for each frame: the answer is proved complete.
    Root,
    /// Both: two kinds of reader are served.
    Both,
}

/// Signs the answers of one provider.
pub struct Attester {
    signer: Box<dyn Signer>,
    provider_name: ProviderId,
    attester_id: String,
}

impl Attester {
    /// Signs under `provider_name`, which must be the name in the handshake.
    #[must_use]
    pub fn new(signer: impl Signer + 'static, provider_name: impl Into<ProviderId>) -> Self {
        let provider_name = provider_name.into();
        Self {
            signer: Box::new(signer),
            attester_id: provider_name.as_str().to_owned(),
            provider_name,
        }
    }

    /// Signs in another name than the provider's own. The name is not part of what is signed.
    #[must_use]
    pub fn in_the_name_of(self, attester_id: impl Into<String>) -> Self {
        Self {
            attester_id: attester_id.into(),
            ..self
        }
    }

    /// The key as the handshake publishes it, which must come before the first signed frame.
    #[must_use]
    pub fn attester_key(&self) -> AttesterKey {
        AttesterKey {
            key_id: self.signer.key_id().to_owned(),
            algorithm: ED25519.to_owned(),
            public_key: self.signer.public_key().to_hex(),
        }
    }

    /// Puts evidence beside the frames of a finished answer, in place of what was there.
    ///
    /// Call it last: a frame that is added, taken out or changed afterwards breaks the root. There
    /// is one entry for each identity; a frame without `content_digest` gets none, because a
    /// signature would not cover what it says, but it counts under the root (F12).
    ///
    /// # Errors
    ///
    /// [`SignError`] from the signer; the answer is then as it was.
    pub fn attest(
        &self,
        result: &mut ContextQueryResult,
        evidence: Evidence,
        issued_at: &Timestamp,
    ) -> Result<(), SignError> {
        let frames = &result.frames;
        let commitments: Vec<_> = frames
            .iter()
            .map(|it| frame_commitment(self.provider_name.as_str(), it))
            .collect();
        let order = leaf_order(frames);
        let tree = (evidence != Evidence::PerFrame).then(|| {
            let leaves: Vec<_> = order.iter().map(|&it| commitments[it]).collect();
            MerkleTree::new(&leaves)
        });
        let mut places = vec![0; frames.len()];
        for (place, index) in order.into_iter().enumerate() {
            places[index] = place;
        }
        let mut entries = Vec::with_capacity(frames.len());
        for index in first_of_each(frames) {
            let attestation = (evidence != Evidence::Root)
                .then(|| self.sign(&commitments[index], issued_at))
                .transpose()?;
            entries.push(FrameAttestation {
                frame: self.identity(&frames[index]),
                attestation,
                inclusion_proof: tree.as_ref().and_then(|it| it.proof(places[index])),
            });
        }
        let root = tree
            .map(|it| self.sign(&it.root(), issued_at))
            .transpose()?;
        result.frame_attestations = entries;
        result.result_attestation = root;
        Ok(())
    }

    /// An attestation over one commitment.
    ///
    /// # Errors
    ///
    /// [`SignError`] from the signer.
    pub fn sign(
        &self,
        commitment: &Commitment,
        issued_at: &Timestamp,
    ) -> Result<ProvenanceAttestation, SignError> {
        let signature = self.signer.sign(commitment.as_bytes())?;
        Ok(ProvenanceAttestation {
            signed_commitment: commitment.to_string(),
            key_id: self.signer.key_id().to_owned(),
            algorithm: ED25519.to_owned(),
            attester_id: self.attester_id.clone(),
            signature: hex::encode(&signature),
            issued_at: issued_at.to_string(),
        })
    }

    fn identity(&self, frame: &ContextFrame) -> FrameId {
        frame.identity(&self.provider_name)
    }
}

impl fmt::Debug for Attester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attester")
            .field("provider_name", &self.provider_name)
            .field("attester_id", &self.attester_id)
            .field("key", &self.attester_key())
            .finish()
    }
}

/// The frames that get an entry: with a digest, and the first of their identity.
fn first_of_each(frames: &[ContextFrame]) -> impl Iterator<Item = usize> {
    let mut seen = HashSet::with_capacity(frames.len());
    frames.iter().enumerate().filter_map(move |(index, it)| {
        let digest = it.content_digest.as_deref()?;
        seen.insert((it.id.as_str(), digest)).then_some(index)
    })
}

#[cfg(test)]
mod tests;
