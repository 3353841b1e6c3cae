//! Provenance that somebody signed for, checkable offline (SPEC.md, "Attestation").
//!
//! A digest proves that bytes did not move since somebody wrote the number down; a signature says
//! who wrote it. [`commitment`] turns a frame, its identity and its provenance into 32 bytes;
//! [`merkle`] puts the commitments of a whole answer under one root; [`verify`] checks a signature
//! over either, and [`sign`] makes one. [`trust`] holds the keys that the operator trusts, and says
//! what they make of the evidence in an answer. [`record`] is the same for records of the lifecycle
//! profile.
//!
//! Everything is a function of its arguments, without clock or network; only [`key_file`] touches
//! the file system, and a new key takes random numbers from the system.
//!
//! In some points this is stricter than the protocol asks, and each has its verdict or state: a
//! proof must fit its own leaf index and count; the count must be the number of frames in the
//! answer (F12); content counts as covered only if its digest is the one that was signed; keys of
//! small order cannot be trusted; hex that travels is lower case for records, too.

pub mod commitment;
mod hex;
pub mod key;
pub mod key_file;
pub mod merkle;
pub mod record;
pub mod sign;
pub mod trust;
pub mod verify;

pub use commitment::{Commitment, chain_head, frame_commitment};
pub use key::{KeyError, PublicKey};
pub use key_file::KeyFileError;
pub use merkle::{MerkleTree, merkle_root, recompute_root};
pub use record::{
    RecordAttestation, RecordError, attest_record, record_hash, record_message, verify_record,
};
pub use sign::{Attester, Ed25519Signer, Evidence, SignError, Signer};
pub use trust::{AnswerCheck, TrustStore};
pub use verify::{verify_commitment, verify_frame, verify_inclusion};

/// The only algorithm defined, as attestations and keys name it. Case matters.
pub const ED25519: &str = "ed25519";
