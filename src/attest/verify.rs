//! Is this signature by this key, over this frame?
//!
//! Every check ends in a verdict, and none in an error: whatever a peer sends is data. The order
//! of the checks is fixed, cheap ones first, so that one broken attestation has one verdict
//! everywhere. Whether the key deserves trust is another question: see [`crate::attest::trust`].

use ed25519_dalek::{Signature, VerifyingKey};

use crate::attest::commitment::{Commitment, frame_commitment};
use crate::attest::merkle::recompute_root;
use crate::attest::{ED25519, hex};
use crate::wire::attestation::{InclusionProof, ProvenanceAttestation};
use crate::wire::attested::AttestationVerdict;
use crate::wire::frame::ContextFrame;

/// Checks an attestation over one commitment or root with a raw public key.
///
/// In this order: the algorithm, the form of what was signed, whether it is what was expected, the
/// key, the form of the signature, the signature. Verification is strict: one encoding of a
/// signature, no key and no commitment to randomness of small order, no cofactor.
#[must_use]
pub fn verify_commitment(
    expected: &Commitment,
    attestation: &ProvenanceAttestation,
    key: &[u8],
) -> AttestationVerdict {
    let algorithm = &attestation.algorithm;
    match claims(expected, algorithm, &attestation.signed_commitment) {
        Ok(()) => verify_bytes(expected.as_bytes(), &attestation.signature, key),
        Err(verdict) => verdict,
    }
}

/// Checks a frame's own attestation, under the name its provider declared in the handshake.
///
/// A good signature over a frame without a digest covers no content, and the verdict says so. Of a
/// frame with a digest it says nothing about whether the digest is that of the content.
#[must_use]
pub fn verify_frame(
    provider_name: &str,
    frame: &ContextFrame,
    attestation: &ProvenanceAttestation,
    key: &[u8],
) -> AttestationVerdict {
    let expected = frame_commitment(provider_name, frame);
    for_frame(frame, verify_commitment(&expected, attestation, key))
}

/// Checks a frame by its place under a signed root.
///
/// The proof comes before everything else: it must be one that a tree of its own leaf count can
/// have. That this is the number of frames in the answer is for the caller to check, who knows it.
#[must_use]
pub fn verify_inclusion(
    provider_name: &str,
    frame: &ContextFrame,
    proof: &InclusionProof,
    root: &ProvenanceAttestation,
    key: &[u8],
) -> AttestationVerdict {
    let leaf = frame_commitment(provider_name, frame);
    match recompute_root(&leaf, proof) {
        Some(expected) => for_frame(frame, verify_commitment(&expected, root, key)),
        None => AttestationVerdict::MalformedCommitment,
    }
}

/// What of a good signature holds for a frame: an empty digest counts as one.
pub(super) fn for_frame(frame: &ContextFrame, verdict: AttestationVerdict) -> AttestationVerdict {
    match verdict {
        AttestationVerdict::Valid if frame.content_digest.is_none() => {
            AttestationVerdict::ValidIdentityOnly
        }
        other => other,
    }
}

/// Whether an attestation claims to be over `expected`; nothing of it is verified yet.
pub(super) fn claims(
    expected: &Commitment,
    algorithm: &str,
    signed: &str,
) -> Result<(), AttestationVerdict> {
    if algorithm != ED25519 {
        return Err(AttestationVerdict::unknown_algorithm(algorithm));
    }
    let Some(claimed) = Commitment::parse(signed) else {
        return Err(AttestationVerdict::MalformedCommitment);
    };
    if claimed != *expected {
        return Err(AttestationVerdict::CommitmentMismatch {
            expected: expected.to_string(),
            signed: claimed.to_string(),
        });
    }
    Ok(())
}

/// Checks a signature in hex over a message.
pub(super) fn verify_bytes(message: &[u8], signature: &str, key: &[u8]) -> AttestationVerdict {
    let key = <&[u8; 32]>::try_from(key).ok();
    let Some(key) = key.and_then(|it| VerifyingKey::from_bytes(it).ok()) else {
        return AttestationVerdict::MalformedKey;
    };
    let Some(signature) = hex::decode(signature) else {
        return AttestationVerdict::MalformedSignature;
    };
    match key.verify_strict(message, &Signature::from_bytes(&signature)) {
        Ok(()) => AttestationVerdict::Valid,
        Err(_) => AttestationVerdict::BadSignature,
    }
}

#[cfg(test)]
mod tests;
