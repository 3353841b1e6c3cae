//! One exchange with a deadline, whatever is at the other end.
//!
//! A transport moves requests and replies and knows who answered the handshake. It does not
//! know consent, budgets or versions: the host looks at the [`Peer`] and decides whether a
//! request may be handed over at all.

pub mod local;
pub mod stdio;

use std::fmt;
use std::sync::Arc;

use crate::clock::Deadline;
use crate::codec::Note;
use crate::error::Result;
use crate::wire::attestation::AttesterKey;
use crate::wire::capability::{Capabilities, ProviderInfo};
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::verify::{VerifyRequest, VerifyResponse};

/// One way to reach one provider. Implemented here, called by a host from
/// any thread.
///
/// The connection may be lost and made anew, and then somebody else may answer. So a request
/// is handed over for the peer that the host has judged: if another one is connected by then,
/// nothing is sent.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Who is connected now, if anybody. Never waits.
    fn connected(&self) -> Option<Arc<Peer>>;

    /// Who is connected, connecting first if nobody is. Waits until `deadline` at the latest.
    ///
    /// # Errors
    ///
    /// Whatever keeps the provider from shaking hands in time.
    fn connect(&self, deadline: Deadline) -> Result<Arc<Peer>>;

    /// Hands a request to `peer` if that needs no waiting. The reply is due at `deadline`.
    ///
    /// # Errors
    ///
    /// Whatever makes an answer impossible already.
    fn start<'a>(
        &'a self,
        peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Started<'a>>;

    /// Hands a request to `peer` and waits for the reply, until `deadline` at the latest; none
    /// if somebody else is connected, and then nothing was sent.
    ///
    /// # Errors
    ///
    /// Whatever keeps the answer from arriving in time.
    fn call(
        &self,
        peer: &Arc<Peer>,
        request: &Request,
        deadline: Deadline,
    ) -> Result<Option<Reply>>;

    /// Whether the provider is occupied with a request whose caller has given up.
    fn is_stuck(&self) -> bool {
        false
    }

    /// Ends the provider and everything that belongs to it, until `deadline` at the latest.
    /// Later calls fail. Calling it again does nothing.
    ///
    /// # Errors
    ///
    /// What had to be left behind, such as an in-process provider that never returned.
    fn shutdown(&self, deadline: Deadline) -> Result<()>;
}

/// Who answered the handshake, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// The version it speaks.
    pub protocol_version: String,
    /// Who it says it is.
    pub info: ProviderInfo,
    /// What it says it can do.
    pub capabilities: Capabilities,
    /// Keys it signs with.
    pub attester_keys: Vec<AttesterKey>,
    /// What of its declaration could not be read.
    pub notes: Vec<Note>,
}

/// What a host asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// For evidence.
    Query(ContextQuery),
    /// Whether held frames still hold.
    Verify(VerifyRequest),
}

/// What a provider answered, as it came: nothing in it has been judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Evidence.
    Frames {
        /// The answer.
        result: ContextQueryResult,
        /// What of it could not be read.
        notes: Vec<Note>,
    },
    /// Verdicts.
    Verified {
        /// The answer.
        response: VerifyResponse,
        /// What of it could not be read.
        notes: Vec<Note>,
    },
}

/// What became of a request that was not to wait.
#[derive(Debug)]
pub enum Started<'a> {
    /// It is on its way.
    Pending(Box<dyn Pending + 'a>),
    /// Handing it over would have to wait: nothing was sent. Use [`Transport::call`].
    WouldWait,
    /// Somebody else is connected: nothing was sent.
    OtherPeer,
}

/// A request on its way. Dropping it gives the answer up.
pub trait Pending: Send + fmt::Debug {
    /// Waits for the reply until the deadline it was started with.
    ///
    /// # Errors
    ///
    /// Whatever keeps the answer from arriving in time.
    fn wait(self: Box<Self>) -> Result<Reply>;
}
