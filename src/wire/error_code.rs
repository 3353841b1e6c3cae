//! Error codes, and what a host does about each (§10 of the protocol, X1, X2).

use crate::wire::vocabulary::vocabulary;

vocabulary! {
    /// Why a provider refused. An open list: an unknown code counts as `internal` (X1).
    ErrorCode {
        /// Malformed or unintelligible.
        BadRequest = "bad_request",
        /// None of the requested kinds is served.
        UnsupportedKind = "unsupported_kind",
        /// The representation is not offered.
        UnsupportedRepresentation = "unsupported_representation",
        /// The version families differ (H3).
        IncompatibleVersion = "incompatible_version",
        /// The budget is too small for anything useful.
        BudgetUnsatisfiable = "budget_unsatisfiable",
        /// Overloaded, or its backend is down; it will pass.
        Unavailable = "unavailable",
        /// The provider is going away.
        ShuttingDown = "shutting_down",
        /// The provider's own fault.
        Internal = "internal",
    }
}

/// What a host does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reaction {
    /// The same request would fail again.
    DoNotRetry,
    /// Ask for something the provider serves, or leave it out.
    NarrowOrSkip,
    /// The two do not speak one language.
    DropProvider,
    /// Give it more, or leave it out.
    RaiseBudgetOrSkip,
    /// Try again after a while.
    RetryWithBackoff,
    /// Start it again, or leave it out.
    RespawnOrDrop,
    /// Tell the user; it counts against the provider's health.
    Report,
}

impl ErrorCode {
    /// What a host does about this code. Unknown codes are treated as `internal` (X1).
    #[must_use]
    pub fn reaction(&self) -> Reaction {
        match self {
            Self::BadRequest => Reaction::DoNotRetry,
            Self::UnsupportedKind | Self::UnsupportedRepresentation => Reaction::NarrowOrSkip,
            Self::IncompatibleVersion => Reaction::DropProvider,
            Self::BudgetUnsatisfiable => Reaction::RaiseBudgetOrSkip,
            Self::Unavailable => Reaction::RetryWithBackoff,
            Self::ShuttingDown => Reaction::RespawnOrDrop,
            Self::Internal | Self::Other(_) => Reaction::Report,
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.reaction(),
            Reaction::RetryWithBackoff | Reaction::RespawnOrDrop
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorCode, Reaction};

    #[test]
    fn unknown_codes_are_internal_and_keep_their_text() {
        let code = ErrorCode::from("acme:quota");
        assert_eq!(code.reaction(), Reaction::Report);
        assert!(!code.is_retryable());
        assert_eq!(code.as_str(), "acme:quota");
        assert_eq!(serde_json::to_string(&code).unwrap(), "\"acme:quota\"");
    }

    #[test]
    fn two_codes_may_be_retried() {
        let retryable: Vec<_> = ErrorCode::KNOWN
            .iter()
            .filter(|it| it.is_retryable())
            .collect();
        assert_eq!(
            retryable,
            [&ErrorCode::Unavailable, &ErrorCode::ShuttingDown]
        );
    }
}
