//! The same for records of the lifecycle profile: a hash over canonical JSON, and a signature.
//!
//! Records are JSON objects that no type of this crate describes, so they are taken as they are.
//! In the canonical form of RFC 8785 every number is a double: `1.0` is `1`, and a whole number
//! beyond 2^53 is rounded before it is hashed. Such values belong into strings.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::attest::commitment::Commitment;
use crate::attest::sign::{SignError, Signer};
use crate::attest::verify::{claims, verify_bytes};
use crate::attest::{ED25519, hex};
use crate::wire::attested::AttestationVerdict;
use crate::wire::time::Timestamp;

const RECORD: &[u8; 28] = b"contextgraph/attest/1/record";

/// The member that holds the hash, and is no part of what is hashed.
const RECORD_HASH: &str = "record_hash";

/// A detached signature over a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordAttestation {
    /// The hash of the record, as a digest.
    pub signed_record_hash: String,
    /// Which key signed.
    pub key_id: String,
    /// How; an unknown algorithm means "cannot check".
    pub algorithm: String,
    /// Who signed.
    pub attester_id: String,
    /// The signature in lower-case hex.
    pub signature: String,
    /// When; neither signed nor checked.
    pub issued_at: String,
}

/// The hash of a record, over its canonical JSON without the top-level member `record_hash`.
///
/// # Errors
///
/// [`RecordError::NotAnObject`] and [`RecordError::NotCanonical`].
pub fn record_hash(record: &Value) -> Result<Commitment, RecordError> {
    let hash = Sha256::digest(canonical(record)?);
    Ok(Commitment::from_bytes(hash.into()))
}

/// What is signed for a record: its hash behind a tag, so that it never passes for a frame's.
#[must_use]
pub fn record_message(hash: &Commitment) -> [u8; 60] {
    let mut message = [0; 60];
    let (tag, rest) = message.split_at_mut(RECORD.len());
    tag.copy_from_slice(RECORD);
    rest.copy_from_slice(hash.as_bytes());
    message
}

/// Signs a record.
///
/// # Errors
///
/// What [`record_hash`] gives, and [`RecordError::Sign`].
pub fn attest_record(
    signer: &dyn Signer,
    attester_id: &str,
    record: &Value,
    issued_at: &Timestamp,
) -> Result<RecordAttestation, RecordError> {
    let hash = record_hash(record)?;
    let signature = signer.sign(&record_message(&hash));
    let signature = signature.map_err(RecordError::Sign)?;
    Ok(RecordAttestation {
        signed_record_hash: hash.to_string(),
        key_id: signer.key_id().to_owned(),
        algorithm: ED25519.to_owned(),
        attester_id: attester_id.to_owned(),
        signature: hex::encode(&signature),
        issued_at: issued_at.to_string(),
    })
}

/// Checks a signature over a record with a raw public key, in the order that holds for frames.
///
/// A `record_hash` inside the record is not compared; it is part of nothing that is signed.
///
/// # Errors
///
/// What [`record_hash`] gives: without a hash there is nothing to have a verdict on.
pub fn verify_record(
    record: &Value,
    attestation: &RecordAttestation,
    key: &[u8],
) -> Result<AttestationVerdict, RecordError> {
    let hash = record_hash(record)?;
    let signed = &attestation.signed_record_hash;
    Ok(match claims(&hash, &attestation.algorithm, signed) {
        Ok(()) => verify_bytes(&record_message(&hash), &attestation.signature, key),
        Err(verdict) => verdict,
    })
}

fn canonical(record: &Value) -> Result<Vec<u8>, RecordError> {
    let members = record.as_object().ok_or(RecordError::NotAnObject)?;
    let hashed = members.iter().filter(|(name, _)| *name != RECORD_HASH);
    let hashed: BTreeMap<_, _> = hashed.collect();
    serde_json_canonicalizer::to_vec(&hashed).map_err(|error| RecordError::NotCanonical {
        reason: error.to_string(),
    })
}

/// Why a record has no hash, or no signature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// A record is a JSON object.
    NotAnObject,
    /// It holds a number that is no double.
    NotCanonical {
        /// What is wrong.
        reason: String,
    },
    /// The signer did not sign.
    Sign(SignError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("a record is a JSON object"),
            Self::NotCanonical { reason } => write!(f, "record without canonical form: {reason}"),
            Self::Sign(_) => f.write_str("record not signed"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Sign(error) => Some(error),
            Self::NotAnObject | Self::NotCanonical { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
