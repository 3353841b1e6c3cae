//! Asking whether held frames still hold (§8 of the protocol, V1–V4).

use serde::{Deserialize, Serialize};

use crate::wire::identity::FrameId;
use crate::wire::lenient::null_is_default;
use crate::wire::vocabulary::vocabulary;

/// Identities a host holds and wants confirmed; never bodies (V1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyRequest {
    /// What to judge. A provider ignores each `provider_id` and echoes it unchanged.
    #[serde(default, deserialize_with = "null_is_default")]
    pub frames: Vec<FrameId>,
}

/// A provider's verdicts, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyResponse {
    /// One per judged identity; an identity without one is `unknown` (V2).
    #[serde(default, deserialize_with = "null_is_default")]
    pub verdicts: Vec<FrameVerdict>,
}

impl VerifyResponse {
    /// Cannot say anything about any of them: the honest default.
    #[must_use]
    pub fn unknown(request: &VerifyRequest) -> Self {
        let verdict = |frame: &FrameId| FrameVerdict {
            frame: frame.clone(),
            status: VerdictStatus::Unknown,
            replacement_digest: None,
        };
        Self {
            verdicts: request.frames.iter().map(verdict).collect(),
        }
    }
}

/// What became of one frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameVerdict {
    /// The identity as it was asked for, all three parts.
    pub frame: FrameId,
    /// The verdict.
    pub status: VerdictStatus,
    /// Digest of what replaced it; only beside `stale` (V4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement_digest: Option<String>,
}

vocabulary! {
    /// Whether a held frame still holds. Only `valid` permits reuse (V3).
    VerdictStatus {
        /// The content is what it was.
        Valid = "valid",
        /// The frame exists with other content.
        Stale = "stale",
        /// The frame no longer exists.
        Gone = "gone",
        /// The provider cannot say.
        Unknown = "unknown",
    }
}
