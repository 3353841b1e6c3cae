//! What travels: messages, grammars and rules (SPEC.md, "Wire"). Data only, no IO.
//!
//! A wire type can hold whatever a peer may send, rule-breaking values too; the pure
//! functions in [`rules`] judge them and name every rule that is broken.

pub mod attestation;
pub mod attested;
pub mod budget;
pub mod capability;
pub mod envelope;
pub mod error_code;
pub mod fingerprint;
pub mod frame;
pub mod grammar;
pub mod identity;
mod lenient;
pub mod query;
pub mod rules;
pub mod scope;
pub mod text;
pub mod time;
pub mod verify;
pub mod version;
mod vocabulary;

pub use attestation::{
    AttesterKey, FrameAttestation, InclusionProof, InclusionStep, ProvenanceAttestation,
};
pub use attested::{AttestationState, AttestationVerdict};
pub use capability::{Capabilities, DataFlow, ProviderInfo, QueryCapability};
pub use envelope::Envelope;
pub use error_code::{ErrorCode, Reaction};
pub use frame::{
    ContentFidelity, ContentRef, ContextFrame, FrameEmbedding, FrameKind, InlineContentRequirement,
    Provenance, ProvenanceType, ProviderFrame, Rel, Relation, Representation, Transform,
};
pub use grammar::GrammarError;
pub use identity::{Digest, FrameId, ProviderId, RequestId};
pub use query::{ContextQuery, ContextQueryResult};
pub use scope::EgressScope;
pub use time::Timestamp;
pub use verify::{FrameVerdict, VerdictStatus, VerifyRequest, VerifyResponse};
pub use version::PROTOCOL_VERSION;

pub(crate) use lenient::Whole;
