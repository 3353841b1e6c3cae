//! One message in, at most one out: what a provider says (H1–H4, R1, V2, X2). Pure, and the
//! same over stdio, over HTTP and in tests.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::codec::{Decoded, Note};
use crate::error::words_of;
use crate::provider::{ContextProvider, ProviderError};
use crate::wire::envelope::Envelope;
use crate::wire::error_code::ErrorCode;
use crate::wire::fingerprint::dimensions;
use crate::wire::identity::RequestId;
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::rules::check_reply;
use crate::wire::text::shown;
use crate::wire::version::{PROTOCOL_VERSION, VersionMatch, compare};

/// What follows from a message.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one step, and nearly always is a reply"
)]
pub enum Answer {
    /// This is said.
    Reply(Envelope),
    /// Nothing is said.
    Silence,
    /// It was `shutdown`: nothing is said and no more is read (R2).
    End,
}

/// What `provider` says to a message. It never panics: a panic of the provider is answered as
/// `internal`.
///
/// A message that cannot be read, or only in part, gets `bad_request`, with its id if it had
/// one. So does a request of an unknown type; without an id it is a notification, and ignored,
/// as is everything that only a provider would say.
///
/// ```
/// use contextgraph_sync::codec::decode;
/// use contextgraph_sync::provider::answer::{Answer, answer};
/// # use contextgraph_sync::provider::{ContextProvider, ProviderError};
/// # use contextgraph_sync::wire::{Capabilities, ContextQuery, ContextQueryResult, ProviderInfo};
/// # struct Nothing;
/// # impl ContextProvider for Nothing {
/// #     fn info(&self) -> ProviderInfo { ProviderInfo::local("nothing", "1") }
/// #     fn capabilities(&self) -> Capabilities { Capabilities::default() }
/// #     fn query(&self, _: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
/// #         Ok(ContextQueryResult::default())
/// #     }
/// # }
///
/// assert_eq!(answer(&Nothing, decode(b"{\"type\":\"shutdown\"}")), Answer::End);
/// ```
#[must_use]
pub fn answer(provider: &(impl ContextProvider + ?Sized), message: Decoded) -> Answer {
    match message {
        Decoded::Malformed(malformed) => {
            let message = malformed.to_string();
            refuse(malformed.id, ErrorCode::BadRequest, message)
        }
        Decoded::Unknown { kind, id: Some(id) } => {
            let message = format!("unknown type `{}`", shown(&kind));
            refuse(Some(id), ErrorCode::BadRequest, message)
        }
        Decoded::Unknown { kind, id: None } => {
            log::debug!("ignored a message of the unknown type `{}`", shown(&kind));
            Answer::Silence
        }
        Decoded::Envelope { envelope, notes } => match envelope {
            Envelope::Handshake { protocol_version } => shake_hands(provider, &protocol_version),
            Envelope::Query { id, query } => {
                let result = match first(&notes) {
                    Some(refusal) => Err(refusal),
                    None => caught(|| query_checked(provider, &query)),
                };
                reply(id, result, |id, result| Envelope::Frames { id, result })
            }
            Envelope::Verify { id, request } => {
                let result = match first(&notes) {
                    Some(refusal) => Err(refusal),
                    None => caught(|| provider.verify(&request)),
                };
                reply(id, result, |id, response| Envelope::Verified {
                    id,
                    response,
                })
            }
            Envelope::Shutdown => Answer::End,
            said @ (Envelope::HandshakeAck { .. }
            | Envelope::Frames { .. }
            | Envelope::Verified { .. }
            | Envelope::Error { .. }) => {
                log::debug!("ignored `{}`, which only a provider says", said.kind());
                Answer::Silence
            }
        },
    }
}

fn shake_hands(provider: &(impl ContextProvider + ?Sized), theirs: &str) -> Answer {
    if compare(theirs) != VersionMatch::Same {
        let theirs = shown(theirs);
        let message = format!("this provider speaks {PROTOCOL_VERSION}, not `{theirs}`");
        return refuse(None, ErrorCode::IncompatibleVersion, message);
    }
    let hello = caught(|| Ok((provider.info(), provider.capabilities())));
    reply(None, hello, |_, (info, capabilities)| {
        Envelope::HandshakeAck {
            protocol_version: PROTOCOL_VERSION.to_owned(),
            provider: info,
            capabilities,
            attester_keys: Vec::new(),
        }
    })
}

/// The author's answer as it is. A host will drop what breaks a rule, so the author is told.
fn query_checked(
    provider: &(impl ContextProvider + ?Sized),
    query: &ContextQuery,
) -> Result<ContextQueryResult, ProviderError> {
    check_vector(provider, query)?;
    let result = provider.query(query)?;
    if log::log_enabled!(log::Level::Warn) {
        for violation in check_reply(query, &result) {
            log::warn!("this answer breaks a rule: {violation}");
        }
    }
    Ok(result)
}

/// E1: a vector of another length is of another space, whatever the host believes.
fn check_vector(
    provider: &(impl ContextProvider + ?Sized),
    query: &ContextQuery,
) -> Result<(), ProviderError> {
    let Some(vector) = &query.embedding else {
        return Ok(());
    };
    let space = provider.capabilities().embeddings_fingerprint;
    let space = space.as_deref().unwrap_or_default();
    match dimensions(space) {
        Some(wanted) if wanted != vector.len() => Err(ProviderError::bad_request(format!(
            "embedding: {} numbers, {} has {wanted}",
            vector.len(),
            shown(space)
        ))),
        _ => Ok(()),
    }
}

/// A request that was not read whole is not answered: half a question has another answer.
fn first(notes: &[Note]) -> Option<ProviderError> {
    let note = notes.first()?;
    Some(ProviderError::bad_request(format!(
        "{}: {}",
        note.member, note.reason
    )))
}

fn caught<T>(call: impl FnOnce() -> Result<T, ProviderError>) -> Result<T, ProviderError> {
    // What a panic leaves half done inside the provider is the provider's; nothing of ours is.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let words = words_of(&*panic);
        log::warn!("the provider panicked: {}", shown(words));
        Err(ProviderError::internal(format!(
            "the provider panicked: {words}"
        )))
    })
}

fn reply<T>(
    id: Option<RequestId>,
    result: Result<T, ProviderError>,
    envelope: impl FnOnce(Option<RequestId>, T) -> Envelope,
) -> Answer {
    match result {
        Ok(value) => Answer::Reply(envelope(id, value)),
        Err(ProviderError { code, message }) => refuse(id, code, message),
    }
}

fn refuse(id: Option<RequestId>, code: ErrorCode, message: String) -> Answer {
    Answer::Reply(Envelope::Error {
        id,
        code: Some(code),
        message,
    })
}
