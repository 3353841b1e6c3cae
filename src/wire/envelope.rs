//! The eight messages of the protocol (§3).

use serde::Serialize;

use crate::wire::attestation::AttesterKey;
use crate::wire::capability::{Capabilities, ProviderInfo};
use crate::wire::error_code::ErrorCode;
use crate::wire::identity::RequestId;
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::verify::{VerifyRequest, VerifyResponse};
use crate::wire::version::PROTOCOL_VERSION;

/// One message. To read and write it as a line, see [`crate::codec`].
///
/// Deserialize is deliberately absent: the codec reads envelopes, so that one bad element
/// costs itself only.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Envelope {
    /// Host to provider: opens the conversation (H1).
    Handshake {
        /// The host's version.
        protocol_version: String,
    },
    /// Provider to host: who it is and what it can do (H1, H2).
    HandshakeAck {
        /// The provider's version.
        protocol_version: String,
        /// Who it is.
        provider: ProviderInfo,
        /// What it can do.
        capabilities: Capabilities,
        /// Keys it signs with.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attester_keys: Vec<AttesterKey>,
    },
    /// Host to provider: asks for evidence.
    Query {
        /// Correlation id; only to a provider that declared `correlation` (H4).
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// What is asked.
        query: ContextQuery,
    },
    /// Provider to host: the evidence.
    Frames {
        /// The id of the query (H4).
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// The answer.
        result: ContextQueryResult,
    },
    /// Host to provider: do these frames still hold?
    Verify {
        /// Never sent by a host; echoed by a provider if one ever arrives.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// What is asked.
        request: VerifyRequest,
    },
    /// Provider to host: the verdicts.
    Verified {
        /// The echoed id; a host ignores it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// The answer.
        response: VerifyResponse,
    },
    /// Host to provider: the end (R2).
    Shutdown,
    /// Provider to host: why there is no answer.
    Error {
        /// The id of the query (H4).
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// What kind of failure; absent means `internal` (X2).
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<ErrorCode>,
        /// For a person.
        message: String,
    },
}

impl Envelope {
    /// The `handshake` of this crate's version.
    #[must_use]
    pub fn handshake() -> Self {
        Self::Handshake {
            protocol_version: PROTOCOL_VERSION.to_owned(),
        }
    }

    /// The word in `type`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Handshake { .. } => "handshake",
            Self::HandshakeAck { .. } => "handshake_ack",
            Self::Query { .. } => "query",
            Self::Frames { .. } => "frames",
            Self::Verify { .. } => "verify",
            Self::Verified { .. } => "verified",
            Self::Shutdown => "shutdown",
            Self::Error { .. } => "error",
        }
    }

    /// The correlation id, if the message carries one.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        match self {
            Self::Query { id, .. }
            | Self::Frames { id, .. }
            | Self::Verify { id, .. }
            | Self::Verified { id, .. }
            | Self::Error { id, .. } => id.as_ref(),
            Self::Handshake { .. } | Self::HandshakeAck { .. } | Self::Shutdown => None,
        }
    }
}

/// The members of each message, for the codec: what `Envelope` would derive, one at a time.
///
/// A derive with `tag` buffers the whole payload in a tree first; these read it once.
pub(crate) mod payload {
    use serde::Deserialize;

    use super::{
        AttesterKey, Capabilities, ContextQuery, ContextQueryResult, Envelope, ErrorCode,
        ProviderInfo, RequestId, VerifyRequest, VerifyResponse,
    };
    use crate::wire::lenient::null_is_default;

    #[derive(Deserialize)]
    pub(crate) struct Handshake {
        protocol_version: String,
    }

    #[derive(Deserialize)]
    pub(crate) struct HandshakeAck {
        protocol_version: String,
        provider: ProviderInfo,
        capabilities: Capabilities,
        #[serde(default, deserialize_with = "null_is_default")]
        attester_keys: Vec<AttesterKey>,
    }

    #[derive(Deserialize)]
    pub(crate) struct Query {
        id: Option<RequestId>,
        query: ContextQuery,
    }

    #[derive(Deserialize)]
    pub(crate) struct Frames {
        id: Option<RequestId>,
        result: ContextQueryResult,
    }

    #[derive(Deserialize)]
    pub(crate) struct Verify {
        id: Option<RequestId>,
        request: VerifyRequest,
    }

    #[derive(Deserialize)]
    pub(crate) struct Verified {
        id: Option<RequestId>,
        response: VerifyResponse,
    }

    #[derive(Deserialize)]
    pub(crate) struct Shutdown {}

    #[derive(Deserialize)]
    pub(crate) struct Error {
        id: Option<RequestId>,
        code: Option<ErrorCode>,
        message: String,
    }

    impl From<Handshake> for Envelope {
        fn from(it: Handshake) -> Self {
            Self::Handshake {
                protocol_version: it.protocol_version,
            }
        }
    }

    impl From<HandshakeAck> for Envelope {
        fn from(it: HandshakeAck) -> Self {
            Self::HandshakeAck {
                protocol_version: it.protocol_version,
                provider: it.provider,
                capabilities: it.capabilities,
                attester_keys: it.attester_keys,
            }
        }
    }

    impl From<Query> for Envelope {
        fn from(Query { id, query }: Query) -> Self {
            Self::Query { id, query }
        }
    }

    impl From<Frames> for Envelope {
        fn from(Frames { id, result }: Frames) -> Self {
            Self::Frames { id, result }
        }
    }

    impl From<Verify> for Envelope {
        fn from(Verify { id, request }: Verify) -> Self {
            Self::Verify { id, request }
        }
    }

    impl From<Verified> for Envelope {
        fn from(Verified { id, response }: Verified) -> Self {
            Self::Verified { id, response }
        }
    }

    impl From<Shutdown> for Envelope {
        fn from(Shutdown {}: Shutdown) -> Self {
            Self::Shutdown
        }
    }

    impl From<Error> for Envelope {
        fn from(Error { id, code, message }: Error) -> Self {
            Self::Error { id, code, message }
        }
    }
}
