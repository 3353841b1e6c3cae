//! Queries and their results (§5 and §6 of the protocol).

use serde::{Deserialize, Serialize};

use crate::wire::attestation::{FrameAttestation, ProvenanceAttestation};
use crate::wire::frame::{ContextFrame, FrameKind, Representation};
use crate::wire::lenient::{null_is_default, optional_whole_number, whole_number};

/// What a host asks for.
///
/// ```
/// use contextgraph_sync::wire::{ContextQuery, FrameKind};
///
/// let query = ContextQuery {
///     kinds: vec![FrameKind::Doc],
///     ..ContextQuery::new("how are invoices numbered", 4, 600)
/// };
/// assert_eq!(query.max_tokens, 600);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextQuery {
    /// What the caller wants, verbatim.
    pub goal: String,
    /// Search text, where it differs from the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_text: Option<String>,
    /// The query as a vector; sent only into the same embedding space (E1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vec<f32>>,
    /// Only these kinds (Q1); empty means any.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub kinds: Vec<FrameKind>,
    /// URIs of the resources in focus (G3, G4).
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub anchors: Vec<String>,
    /// At most this many frames (B4).
    #[serde(deserialize_with = "whole_number")]
    pub max_frames: u32,
    /// At most this many budget tokens (B1).
    #[serde(deserialize_with = "whole_number")]
    pub max_tokens: u32,
    /// Asks for what was true at this instant (F4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Representations in order of preference; empty means `full` (P5).
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub representation_preferences: Vec<Representation>,
}

impl ContextQuery {
    /// The minimal query: a goal and the two limits.
    #[must_use]
    pub fn new(goal: impl Into<String>, max_frames: u32, max_tokens: u32) -> Self {
        Self {
            goal: goal.into(),
            max_frames,
            max_tokens,
            ..Self::default()
        }
    }

    /// The text to search for: `query_text` if there is one, else the goal.
    #[must_use]
    pub fn text(&self) -> &str {
        self.query_text.as_deref().unwrap_or(&self.goal)
    }

    /// Whether frames of this kind were asked for (Q1).
    #[must_use]
    pub fn wants(&self, kind: &FrameKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(kind)
    }
}

/// What a provider answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextQueryResult {
    /// The evidence, in the provider's preference.
    pub frames: Vec<ContextFrame>,
    /// Whether more candidates existed than were returned.
    pub truncated: bool,
    /// About how many were left out.
    #[serde(
        default,
        deserialize_with = "optional_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub dropped_estimate: Option<u32>,
    /// Signatures and inclusion proofs, beside the frames and never inside them (F6, F11).
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub frame_attestations: Vec<FrameAttestation>,
    /// A signature over the Merkle root of all frames (F12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_attestation: Option<ProvenanceAttestation>,
}

impl From<Vec<ContextFrame>> for ContextQueryResult {
    /// A complete answer: nothing was left out.
    fn from(frames: Vec<ContextFrame>) -> Self {
        Self {
            frames,
            ..Self::default()
        }
    }
}
