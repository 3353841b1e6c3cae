//! What a host found out about the evidence of a frame.
//!
//! Data only, so that an audit can carry it whether or not this build can check signatures.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::text::{floor_char_boundary, shown};

/// How much of a peer's key id, attester id or algorithm is repeated.
const ECHOED_BYTES: usize = 128;

/// The result of checking one signature, or one proof under a signed root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttestationVerdict {
    /// The key signed this identity, this provenance, and the digest of this content.
    Valid,
    /// The key signed this identity and provenance; without a digest no content is covered.
    ValidIdentityOnly,
    /// A signature over something else: lifted from another frame, or the frame was changed.
    CommitmentMismatch {
        /// What the frame or the proof leads to.
        expected: String,
        /// What the attestation claims to have signed.
        signed: String,
    },
    /// Not made by this key over this, or not in the one form that strict verification accepts.
    BadSignature,
    /// Neither valid nor forged: there is no way to check it (F8).
    UnknownAlgorithm {
        /// Its name, cut to 128 bytes.
        algorithm: String,
    },
    /// The key is not 32 bytes, or no point of the curve.
    MalformedKey,
    /// The signature is not 128 lower-case hex digits.
    MalformedSignature,
    /// What was signed is no digest, or the proof does not fit its own numbers.
    MalformedCommitment,
}

impl AttestationVerdict {
    /// The verdict on an algorithm other than `ed25519`.
    #[must_use]
    pub fn unknown_algorithm(algorithm: &str) -> Self {
        Self::UnknownAlgorithm {
            algorithm: echoed(algorithm),
        }
    }

    /// Whether everything holds, the content included.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        *self == Self::Valid
    }

    /// Whether the signature itself is good, over content or not.
    #[must_use]
    pub fn signature_verifies(&self) -> bool {
        matches!(self, Self::Valid | Self::ValidIdentityOnly)
    }
}

impl fmt::Display for AttestationVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Valid => f.write_str("valid"),
            Self::ValidIdentityOnly => f.write_str("valid, but covers no content"),
            Self::CommitmentMismatch { expected, signed } => {
                let (expected, signed) = (shown(expected), shown(signed));
                write!(f, "signed {signed} instead of {expected}")
            }
            Self::BadSignature => f.write_str("not signed by this key"),
            Self::UnknownAlgorithm { algorithm } => {
                write!(f, "unknown algorithm `{}`", shown(algorithm))
            }
            Self::MalformedKey => f.write_str("malformed key"),
            Self::MalformedSignature => f.write_str("malformed signature"),
            Self::MalformedCommitment => f.write_str("malformed commitment or proof"),
        }
    }
}

/// What a host knows about the evidence of one frame.
///
/// It is for people and audits to look at, and never removes or moves the frame (F9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttestationState {
    /// Nobody looked.
    #[default]
    NotChecked,
    /// The provider sent no evidence for this identity.
    Unattested,
    /// Verified under a key that the operator trusts.
    Attested {
        /// Which key, cut to 128 bytes.
        key_id: String,
        /// Who signed by the provider's account, which is not signed; cut to 128 bytes.
        attester_id: String,
        /// Whether the signature covers the content that travelled, by its digest.
        covers_content: bool,
    },
    /// The operator trusts no key of this id for this provider, so nothing is known.
    NoTrustedKey {
        /// Which key is missing, cut to 128 bytes.
        key_id: String,
    },
    /// Neither valid nor forged: there is no way to check it (F8).
    UnknownAlgorithm {
        /// Its name, cut to 128 bytes.
        algorithm: String,
    },
    /// There is an entry, but neither a signature nor a proof under a signed root.
    UnusableEvidence,
    /// Checked and failed.
    Invalid(AttestationVerdict),
}

impl AttestationState {
    /// A state with a peer's key id and attester id, cut.
    #[must_use]
    pub fn attested(key_id: &str, attester_id: &str, covers_content: bool) -> Self {
        Self::Attested {
            key_id: echoed(key_id),
            attester_id: echoed(attester_id),
            covers_content,
        }
    }

    /// A state with a peer's key id, cut.
    #[must_use]
    pub fn no_trusted_key(key_id: &str) -> Self {
        Self::NoTrustedKey {
            key_id: echoed(key_id),
        }
    }

    /// A state with a peer's algorithm, cut.
    #[must_use]
    pub fn unknown_algorithm(algorithm: &str) -> Self {
        Self::UnknownAlgorithm {
            algorithm: echoed(algorithm),
        }
    }

    /// Whether the provider offered evidence, good or bad.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        !matches!(self, Self::NotChecked | Self::Unattested)
    }

    /// Whether the evidence was verified under a trusted key.
    #[must_use]
    pub fn is_attested(&self) -> bool {
        matches!(self, Self::Attested { .. })
    }

    /// The state as one word, as it is serialized.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotChecked => "not_checked",
            Self::Unattested => "unattested",
            Self::Attested { .. } => "attested",
            Self::NoTrustedKey { .. } => "no_trusted_key",
            Self::UnknownAlgorithm { .. } => "unknown_algorithm",
            Self::UnusableEvidence => "unusable_evidence",
            Self::Invalid(_) => "invalid",
        }
    }
}

impl fmt::Display for AttestationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotChecked => f.write_str("not checked"),
            Self::Unattested => f.write_str("no evidence"),
            Self::Attested {
                key_id,
                attester_id,
                covers_content,
            } => {
                let (key_id, attester_id) = (shown(key_id), shown(attester_id));
                write!(f, "attested by `{attester_id}` with key `{key_id}`")?;
                if *covers_content {
                    return Ok(());
                }
                f.write_str(", but not this content")
            }
            Self::NoTrustedKey { key_id } => write!(f, "no trusted key `{}`", shown(key_id)),
            Self::UnknownAlgorithm { algorithm } => {
                write!(f, "unknown algorithm `{}`", shown(algorithm))
            }
            Self::UnusableEvidence => f.write_str("evidence without a signature"),
            Self::Invalid(verdict) => write!(f, "invalid: {verdict}"),
        }
    }
}

fn echoed(text: &str) -> String {
    text[..floor_char_boundary(text, ECHOED_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::{AttestationState, AttestationVerdict};

    #[track_caller]
    fn check(state: &AttestationState, json: &str, text: &str) {
        assert_eq!(serde_json::to_string(state).unwrap(), json);
        assert_eq!(
            &serde_json::from_str::<AttestationState>(json).unwrap(),
            state
        );
        assert_eq!(state.to_string(), text);
        let tag = format!("{{\"state\":\"{}\"", state.as_str());
        assert!(json.starts_with(&tag), "{tag}");
    }

    #[test]
    fn states_as_json_and_as_text() {
        let attested = AttestationState::attested("k\r", "p", false);
        let json =
            r#"{"state":"attested","key_id":"k\r","attester_id":"p","covers_content":false}"#;
        check(
            &attested,
            json,
            r"attested by `p` with key `k\r`, but not this content",
        );
        let json = r#"{"state":"not_checked"}"#;
        check(&AttestationState::default(), json, "not checked");
        let json = r#"{"state":"unattested"}"#;
        check(&AttestationState::Unattested, json, "no evidence");
        let json = r#"{"state":"no_trusted_key","key_id":"k"}"#;
        check(
            &AttestationState::no_trusted_key("k"),
            json,
            "no trusted key `k`",
        );
        let json = r#"{"state":"unknown_algorithm","algorithm":"x"}"#;
        check(
            &AttestationState::unknown_algorithm("x"),
            json,
            "unknown algorithm `x`",
        );
        let json = r#"{"state":"unusable_evidence"}"#;
        check(
            &AttestationState::UnusableEvidence,
            json,
            "evidence without a signature",
        );
        let json = r#"{"state":"invalid","verdict":"bad_signature"}"#;
        let invalid = AttestationState::Invalid(AttestationVerdict::BadSignature);
        check(&invalid, json, "invalid: not signed by this key");
    }

    #[test]
    fn a_mismatch_names_both() {
        let mismatch = AttestationState::Invalid(AttestationVerdict::CommitmentMismatch {
            expected: "a".to_owned(),
            signed: "b".to_owned(),
        });
        let json =
            r#"{"state":"invalid","verdict":"commitment_mismatch","expected":"a","signed":"b"}"#;
        check(&mismatch, json, "invalid: signed b instead of a");
    }

    #[test]
    fn what_a_peer_says_is_cut_between_characters() {
        let long = "é".repeat(100);
        let AttestationState::NoTrustedKey { key_id } = AttestationState::no_trusted_key(&long)
        else {
            panic!("another state");
        };
        assert_eq!(key_id, "é".repeat(64));
        let long = format!("x{long}");
        let cut = AttestationVerdict::unknown_algorithm(&long);
        let algorithm = format!("x{}", "é".repeat(63));
        assert_eq!(cut, AttestationVerdict::UnknownAlgorithm { algorithm });
    }

    #[test]
    fn offered_is_not_attested() {
        let unoffered = [AttestationState::NotChecked, AttestationState::Unattested];
        assert!(unoffered.iter().all(|it| !it.is_offered()));
        let offered = AttestationState::UnusableEvidence;
        assert!(offered.is_offered() && !offered.is_attested());
        assert!(AttestationState::attested("k", "a", false).is_attested());
        assert!(AttestationVerdict::ValidIdentityOnly.signature_verifies());
        assert!(!AttestationVerdict::ValidIdentityOnly.is_valid());
    }
}
