//! Which keys the operator trusts, and what that makes of the evidence in an answer.
//!
//! The store is filled by the operator and by nobody else: no discovery, no trust on first use,
//! and the keys a provider publishes in its handshake are not looked at.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::attest::ED25519;
use crate::attest::commitment::frame_commitment;
use crate::attest::key::PublicKey;
use crate::attest::merkle::recompute_root;
use crate::attest::verify::{claims, for_frame, verify_bytes, verify_commitment};
use crate::digest::sha256;
use crate::wire::attestation::{FrameAttestation, InclusionProof, ProvenanceAttestation};
use crate::wire::attested::{AttestationState, AttestationVerdict};
use crate::wire::frame::ContextFrame;
use crate::wire::identity::ProviderId;
use crate::wire::query::ContextQueryResult;

/// The keys an operator trusts: by the registration id of a provider, and by key id.
///
/// As JSON it is an object of objects: `{"docs": {"k-2026": {"public_key": "03a1…"}}}`. Reading
/// one in refuses keys that [`PublicKey`] refuses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrustStore {
    providers: BTreeMap<ProviderId, BTreeMap<String, TrustedKey>>,
}

/// What is kept for a trusted key; members that are not known here are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TrustedKey {
    public_key: PublicKey,
}

impl TrustStore {
    /// Trusts a key for a provider. Gives back the other key that had this id until now.
    pub fn trust(
        &mut self,
        provider: ProviderId,
        key_id: impl Into<String>,
        public_key: PublicKey,
    ) -> Option<PublicKey> {
        let keys = self.providers.entry(provider).or_default();
        let replaced = keys.insert(key_id.into(), TrustedKey { public_key });
        replaced
            .map(|it| it.public_key)
            .filter(|it| *it != public_key)
    }

    /// Trusts a key no longer; whether it was trusted.
    pub fn revoke(&mut self, provider: &ProviderId, key_id: &str) -> bool {
        let Some(keys) = self.providers.get_mut(provider) else {
            return false;
        };
        let was_trusted = keys.remove(key_id).is_some();
        if keys.is_empty() {
            self.providers.remove(provider);
        }
        was_trusted
    }

    /// The key with this id, if it is trusted for this provider.
    #[must_use]
    pub fn key(&self, provider: &ProviderId, key_id: &str) -> Option<&PublicKey> {
        let key = self.providers.get(provider)?.get(key_id)?;
        Some(&key.public_key)
    }

    /// All trusted keys: provider, key id and key, in the order of the first two.
    pub fn keys(&self) -> impl Iterator<Item = (&ProviderId, &str, &PublicKey)> {
        self.providers.iter().flat_map(|(provider, keys)| {
            let keys = keys.iter();
            keys.map(move |(key_id, key)| (provider, key_id.as_str(), &key.public_key))
        })
    }

    /// Whether no key is trusted at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys().next().is_none()
    }

    /// Checks the evidence for every frame of an answer as it came, in the order of the frames.
    ///
    /// See [`AnswerCheck`], which checks one frame after the other.
    #[must_use]
    pub fn check(
        &self,
        provider: &ProviderId,
        declared_name: &str,
        result: &ContextQueryResult,
    ) -> Vec<AttestationState> {
        let n_carried = result.frames.len();
        let mut check = AnswerCheck::new(self, provider, declared_name, result, n_carried);
        result.frames.iter().map(|it| check.state(it)).collect()
    }
}

/// The evidence of one answer, matched to its frames and checked on demand.
///
/// Work is bounded by the frames of the answer, whatever else it carries: at most one entry per
/// frame is looked at, and for each frame at most one signature and 64 steps of a proof; the
/// signature over the root is verified once.
///
/// ```
/// use contextgraph_sync::attest::{Attester, Ed25519Signer, Evidence, Signer, TrustStore};
/// use contextgraph_sync::provider::FrameBuilder;
/// use contextgraph_sync::wire::{ContextQueryResult, FrameKind, Timestamp};
///
/// let signer = Ed25519Signer::from_seed("k-2026", &[7; 32]);
/// let mut trusted = TrustStore::default();
/// trusted.trust("docs".into(), "k-2026", signer.public_key());
///
/// let frame = FrameBuilder::new("numbers", FrameKind::Fact, "Numbers", "They restart.").build();
/// let mut answer = ContextQueryResult::from(vec![frame]);
/// let now = Timestamp::parse("2026-08-29T00:00:00Z")?;
/// Attester::new(signer, "acme-docs").attest(&mut answer, Evidence::Root, &now)?;
///
/// let states = trusted.check(&"docs".into(), "acme-docs", &answer);
/// assert!(states[0].is_attested());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AnswerCheck<'a> {
    trusted: &'a TrustStore,
    provider: &'a ProviderId,
    declared_name: &'a str,
    entries: HashMap<(&'a str, Option<&'a str>), &'a FrameAttestation>,
    root: Option<&'a ProvenanceAttestation>,
    /// What verifying the signature over the root came to, once somebody asked.
    root_signature: Option<AttestationVerdict>,
    n_carried: u64,
}

impl<'a> AnswerCheck<'a> {
    /// Prepares to check the answer of a provider that is registered as `provider` and called
    /// itself `declared_name` in the handshake.
    ///
    /// `n_carried` is how many frames the answer carried, those that could not be read included:
    /// the leaves under a root are exactly these (F12).
    #[must_use]
    pub fn new(
        trusted: &'a TrustStore,
        provider: &'a ProviderId,
        declared_name: &'a str,
        result: &'a ContextQueryResult,
        n_carried: usize,
    ) -> Self {
        let mut entries = HashMap::with_capacity(n_carried.min(result.frame_attestations.len()));
        for entry in result.frame_attestations.iter().take(n_carried) {
            let identity = &entry.frame;
            if identity.provider_id == *declared_name {
                let key = (&*identity.frame_id, identity.content_digest.as_deref());
                entries.entry(key).or_insert(entry);
            }
        }
        Self {
            trusted,
            provider,
            declared_name,
            entries,
            root: result.result_attestation.as_ref(),
            root_signature: None,
            n_carried: n_carried as u64,
        }
    }

    /// Checks the evidence for a frame as it came: nothing of it corrected or read as absent.
    ///
    /// The frame's own signature wins over its place under the root. Content is covered if the
    /// frame's digest is that of the content it carries; a digest of something else is signed, too,
    /// but says nothing about this content.
    pub fn state(&mut self, frame: &ContextFrame) -> AttestationState {
        let identity = (&*frame.id, frame.content_digest.as_deref());
        let Some(&entry) = self.entries.get(&identity) else {
            return AttestationState::Unattested;
        };
        match (&entry.attestation, &entry.inclusion_proof, self.root) {
            (Some(own), ..) => self.judge(frame, own, None),
            (None, Some(proof), Some(root)) => self.judge(frame, root, Some(proof)),
            (None, ..) => AttestationState::UnusableEvidence,
        }
    }

    /// What cannot be checked first, then what is cheap, then what costs a signature.
    fn judge(
        &mut self,
        frame: &ContextFrame,
        attestation: &ProvenanceAttestation,
        proof: Option<&InclusionProof>,
    ) -> AttestationState {
        if attestation.algorithm != ED25519 {
            return AttestationState::unknown_algorithm(&attestation.algorithm);
        }
        let key_id = &attestation.key_id;
        let Some(key) = self.trusted.key(self.provider, key_id) else {
            return AttestationState::no_trusted_key(key_id);
        };
        let verdict = match proof {
            _ if attestation.signed_commitment.len() != 71 => {
                AttestationVerdict::MalformedCommitment
            }
            _ if attestation.signature.len() != 128 => AttestationVerdict::MalformedSignature,
            None => {
                let expected = frame_commitment(self.declared_name, frame);
                verify_commitment(&expected, attestation, key.as_bytes())
            }
            Some(proof) => self.place_under_root(frame, attestation, proof, key),
        };
        match for_frame(frame, verdict) {
            verdict if verdict.signature_verifies() => {
                let covers_content = verdict.is_valid() && digest_fits(frame);
                AttestationState::attested(key_id, &attestation.attester_id, covers_content)
            }
            verdict => AttestationState::Invalid(verdict),
        }
    }

    fn place_under_root(
        &mut self,
        frame: &ContextFrame,
        root: &ProvenanceAttestation,
        proof: &InclusionProof,
        key: &PublicKey,
    ) -> AttestationVerdict {
        // F12: a root over more or other frames than these is not the root of this answer.
        if proof.leaf_count != self.n_carried {
            return AttestationVerdict::MalformedCommitment;
        }
        let leaf = frame_commitment(self.declared_name, frame);
        let Some(expected) = recompute_root(&leaf, proof) else {
            return AttestationVerdict::MalformedCommitment;
        };
        if let Err(verdict) = claims(&expected, &root.algorithm, &root.signed_commitment) {
            return verdict;
        }
        // Every frame that gets here has led to the same root, so one verdict is right for all.
        self.root_signature
            .get_or_insert_with(|| {
                verify_bytes(expected.as_bytes(), &root.signature, key.as_bytes())
            })
            .clone()
    }
}

/// Whether a frame's digest is that of what it carries; without content there is nothing else.
fn digest_fits(frame: &ContextFrame) -> bool {
    let declared = frame.content_digest.as_deref();
    let content = frame.content.as_deref();
    content.is_none_or(|it| declared == Some(sha256(it.as_bytes()).as_str()))
}

#[cfg(test)]
mod tests;
