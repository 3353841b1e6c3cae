//! Signatures over provenance, as they travel (§9 of the protocol, F6–F13).
//!
//! Carried, stored and relayed here; checking one is the business of a layer above.

use serde::{Deserialize, Serialize};

use crate::wire::identity::FrameId;
use crate::wire::lenient::whole_number;

/// A key a provider signs with, published in the handshake.
///
/// It lets anyone check how an attestation was made; it is no reason to trust the signer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttesterKey {
    /// Named by attestations; a rotated key has a new id.
    pub key_id: String,
    /// `ed25519` is the only one defined.
    pub algorithm: String,
    /// The raw key in lower-case hex.
    pub public_key: String,
}

/// A detached signature over a commitment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenanceAttestation {
    /// What was signed, as a digest.
    pub signed_commitment: String,
    /// Which key signed.
    pub key_id: String,
    /// How; an unknown algorithm means "cannot check" (F8).
    pub algorithm: String,
    /// Who signed.
    pub attester_id: String,
    /// The signature in lower-case hex.
    pub signature: String,
    /// When (F4); neither signed nor checked.
    pub issued_at: String,
}

/// The evidence for one frame: its own signature, or its place under the signed root (F13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameAttestation {
    /// The identity it covers, under the provider's declared name.
    pub frame: FrameId,
    /// A signature over this frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attestation: Option<ProvenanceAttestation>,
    /// The way from this frame to the signed root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclusion_proof: Option<InclusionProof>,
}

/// A Merkle path from a leaf to the root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InclusionProof {
    /// Position of the leaf, from 0.
    #[serde(deserialize_with = "whole_number")]
    pub leaf_index: u64,
    /// Number of leaves.
    #[serde(deserialize_with = "whole_number")]
    pub leaf_count: u64,
    /// Siblings from leaf to root.
    pub path: Vec<InclusionStep>,
}

/// One step of a Merkle path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InclusionStep {
    /// Digest of the sibling.
    pub sibling: String,
    /// Whether the sibling stands to the left.
    pub sibling_is_left: bool,
}
