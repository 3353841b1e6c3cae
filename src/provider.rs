//! What an author links: the trait, and what makes the honest answer the easy one.
//!
//! A provider is written once and used in process, as a child and over HTTP. It meets the
//! protocol's [`ProviderError`] and never a host's error.

pub mod answer;
pub mod frame;
pub mod pack;
pub mod stdio;

pub use frame::FrameBuilder;
pub use pack::Budget;
pub use stdio::{Serve, serve_stdio};

use std::fmt;

use crate::wire::capability::{Capabilities, ProviderInfo};
use crate::wire::error_code::ErrorCode;
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::verify::{VerifyRequest, VerifyResponse};

/// A source of context.
///
/// Implemented by authors of providers; called by a host's worker thread, or by the runtime
/// that serves the provider as a child or over HTTP. Calls do not overlap unless the runtime
/// was told that they may. A panic in any method is caught and answered as `internal`.
///
/// ```
/// use contextgraph_sync::provider::{Budget, ContextProvider, FrameBuilder, ProviderError};
/// use contextgraph_sync::wire::{
///     Capabilities, ContextQuery, ContextQueryResult, FrameKind, ProviderInfo,
/// };
///
/// struct Invoices;
///
/// impl ContextProvider for Invoices {
///     fn info(&self) -> ProviderInfo {
///         ProviderInfo::local("invoices", "1.0")
///     }
///
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::kinds([FrameKind::Fact])
///     }
///
///     fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
///         let text = "Numbers restart every January.";
///         let frame = FrameBuilder::new("numbers", FrameKind::Fact, "Invoice numbers", text)
///             .citation_label("wiki: invoices")
///             .score(0.8)
///             .build();
///         Ok(Budget::pack([frame], query))
///     }
/// }
///
/// let answer = Invoices.query(&ContextQuery::new("how are invoices numbered", 4, 600))?;
/// assert_eq!(answer.frames[0].token_cost, 8);
/// # Ok::<(), ProviderError>(())
/// ```
pub trait ContextProvider: Send + Sync + 'static {
    /// Who it is, and what happens to the data it sees. The same on every call.
    fn info(&self) -> ProviderInfo;

    /// What it can do. The same on every call.
    fn capabilities(&self) -> Capabilities;

    /// Answers one query within its limits and kinds (B1, B4, Q1).
    ///
    /// # Errors
    ///
    /// What the host is told instead; see [`ProviderError`].
    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError>;

    /// Judges frames that a host holds; asked only if `verify` is declared (V2).
    ///
    /// Without an implementation it says `unknown` for all of them.
    ///
    /// # Errors
    ///
    /// What the host is told instead.
    fn verify(&self, request: &VerifyRequest) -> Result<VerifyResponse, ProviderError> {
        Ok(VerifyResponse::unknown(request))
    }

    /// Called once when no more calls will come.
    fn shutdown(&self) {}
}

impl<P: ContextProvider + ?Sized> ContextProvider for std::sync::Arc<P> {
    fn info(&self) -> ProviderInfo {
        (**self).info()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        (**self).query(query)
    }

    fn verify(&self, request: &VerifyRequest) -> Result<VerifyResponse, ProviderError> {
        (**self).verify(request)
    }

    fn shutdown(&self) {
        (**self).shutdown();
    }
}

impl<P: ContextProvider + ?Sized> ContextProvider for Box<P> {
    fn info(&self) -> ProviderInfo {
        (**self).info()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
        (**self).query(query)
    }

    fn verify(&self, request: &VerifyRequest) -> Result<VerifyResponse, ProviderError> {
        (**self).verify(request)
    }

    fn shutdown(&self) {
        (**self).shutdown();
    }
}

/// Why a provider does not answer: exactly what an `error` message carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// What kind of failure; decides what the host does about it.
    pub code: ErrorCode,
    /// For the person at the host. Leave out secrets and payloads.
    pub message: String,
}

impl ProviderError {
    /// A failure of this kind.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The provider's own fault.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// The request makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    /// It will pass: overloaded, or a backend is down.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ProviderError {}
