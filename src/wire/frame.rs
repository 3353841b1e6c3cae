//! Frames: the pieces of evidence a provider answers with (§7 of the protocol).

use serde::{Deserialize, Serialize};

use crate::wire::identity::{FrameId, ProviderId};
use crate::wire::lenient::{null_is_default, optional_whole_number, whole_number};
use crate::wire::vocabulary::vocabulary;

vocabulary! {
    /// What a frame is. An open list: vendors add `vendor:name`, and unknown kinds are kept (U2).
    FrameKind {
        /// A piece of source text.
        Snippet = "snippet",
        /// A named thing in code.
        Symbol = "symbol",
        /// A statement.
        Fact = "fact",
        /// A piece of documentation.
        Doc = "doc",
        /// Something remembered.
        Memory = "memory",
        /// Something that happened.
        Episode = "episode",
        /// A neighbourhood in a graph.
        Graph = "graph",
    }
}

vocabulary! {
    /// How much of the content travels inline (P1–P3).
    #[derive(Default)]
    Representation {
        /// All of it.
        #[default]
        Full = "full",
        /// A shorter rendering, and a handle for the rest.
        Compact = "compact",
        /// A handle only.
        Reference = "reference",
    }
}

vocabulary! {
    /// How close the inline content is to its source. Absent on a `full` frame means `exact`.
    ContentFidelity {
        /// The bytes of the source.
        Exact = "exact",
        /// The same text with its layout changed.
        Normalized = "normalized",
        /// Said in fewer words.
        Summarized = "summarized",
        /// Not there.
        Omitted = "omitted",
    }
}

vocabulary! {
    /// Whether the place where a frame is used needs the text itself.
    InlineContentRequirement {
        /// It does: constraints, ordered procedures, contracts.
        Required = "required",
        /// A handle that can be resolved will do.
        ResolvableReferenceAllowed = "resolvable_reference_allowed",
    }
}

vocabulary! {
    /// How a relation connects. An open list: vendors add `vendor:name`.
    Rel {
        /// Calls it.
        CodeCalls = "code.calls",
        /// Imports it.
        CodeImports = "code.imports",
        /// Defines it.
        CodeDefines = "code.defines",
        /// Mentions it.
        CodeReferences = "code.references",
        /// Documents it.
        DocDocuments = "doc.documents",
        /// Happened after it.
        EpisodeFollows = "episode.follows",
    }
}

vocabulary! {
    /// Where evidence comes from. An open list.
    ProvenanceType {
        /// Bytes of a file; needs a digest over exactly these bytes (F5).
        File = "file",
        /// Derived from other evidence.
        Derivation = "derivation",
        /// Something that happened.
        Episode = "episode",
    }
}

/// One piece of evidence: typed, priced, cited, with its provenance.
///
/// When you build one, use [`FrameBuilder`](crate::provider::FrameBuilder): it computes
/// the cost and the digest. When you receive one, it may break any rule;
/// [`rules::check_frame`](crate::wire::rules::check_frame) names which.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextFrame {
    /// The provider's name for the frame; not empty.
    pub id: String,
    /// What it is.
    pub kind: FrameKind,
    /// For a person; not blank (F2).
    pub title: String,
    /// The text itself; absent on a `reference` frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// SHA-256 of the inline content (D1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
    /// The resource it comes from; what anchors are compared with (G4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// How much of the content travels inline.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "is_full"
    )]
    pub representation: Representation,
    /// How close the inline content is to its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_fidelity: Option<ContentFidelity>,
    /// Digest of the complete source text (P2, P3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical_content_hash: Option<String>,
    /// Handle for the complete source text (P2, P3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_ref: Option<ContentRef>,
    /// What made the inline rendering from the source (P2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// The lowest fidelity that will do where the frame is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_content_fidelity: Option<ContentFidelity>,
    /// Whether that place needs the text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_content_requirement: Option<InlineContentRequirement>,
    /// Relevance from 0 to 1 (F1); ordinal inside one provider only (F10).
    pub score: f32,
    /// Budget tokens of the inline content, exactly (B3); 0 without content (P4).
    #[serde(deserialize_with = "whole_number")]
    pub token_cost: u32,
    /// What the complete source would cost; informative.
    #[serde(
        default,
        deserialize_with = "optional_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub canonical_token_cost: Option<u32>,
    /// The tokenizer behind `canonical_token_cost`, such as `openai:o200k_base`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_ref: Option<String>,
    /// Since when the content is true; absent: no bound stated (F4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// Until when, exclusive; absent: no bound stated (F4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// When the provider learned it (F4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// Where it comes from, closest to the source first.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub provenance: Vec<Provenance>,
    /// How to cite it; optional in the type, required by F3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citation_label: Option<String>,
    /// Its embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<FrameEmbedding>,
    /// Edges to other resources.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub relations: Vec<Relation>,
}

impl ContextFrame {
    /// The identity of this frame under a provider id.
    #[must_use]
    pub fn identity(&self, provider_id: &ProviderId) -> FrameId {
        FrameId {
            provider_id: provider_id.clone(),
            frame_id: self.id.clone(),
            content_digest: self.content_digest.clone(),
        }
    }
}

impl Default for FrameKind {
    /// The kind of nothing in particular: an empty word, which no check takes for a known kind.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

fn is_full(representation: &Representation) -> bool {
    *representation == Representation::Full
}

/// A frame and the registration id of the provider it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderFrame {
    /// Whose frame it is, by the host's name for it.
    pub provider_id: ProviderId,
    /// The frame.
    pub frame: ContextFrame,
}

impl ProviderFrame {
    /// The identity of the frame on this host.
    #[must_use]
    pub fn identity(&self) -> FrameId {
        self.frame.identity(&self.provider_id)
    }
}

/// One link of the chain from a frame back to its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// What kind of link.
    #[serde(rename = "type")]
    pub kind: ProvenanceType,
    /// The source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Which part of it: `L<n>` or `L<a>-<b>`, lines from 1, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// SHA-256 over exactly the bytes that `uri` and `range` address (F5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How it was derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// An edge from a frame to another resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// How it connects.
    pub rel: Rel,
    /// What it connects to; not blank (G2).
    pub target_uri: String,
    /// For a person; optional in the type, required by G1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A vector and the space it lives in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameEmbedding {
    /// The embedding space (E1).
    pub fingerprint: String,
    /// The vector itself, if it travels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
}

/// A handle for the complete source text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContentRef {
    /// Who resolves it.
    pub provider_id: String,
    /// Opaque; unrelated to the frame's own `uri`.
    pub uri: String,
    /// Until when it resolves (F4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// What made an inline rendering from its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transform {
    /// What was done.
    pub method: String,
    /// By which program.
    pub implementation: String,
    /// In which version.
    pub version: String,
}
