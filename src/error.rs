//! What can go wrong when a host asks, named for what went wrong.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use crate::wire::capability::DataFlow;
use crate::wire::error_code::{ErrorCode, Reaction};
use crate::wire::identity::ProviderId;
use crate::wire::rules::Violation;
use crate::wire::scope::EgressScope;
use crate::wire::text::shown;
use crate::wire::version::PROTOCOL_VERSION;

/// The result of asking a provider for something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a host has no answer.
///
/// Every variant names the provider. `Display` is one line for a person: what failed, at
/// which limit, and what to do if there is something to do. Text that came from a provider is
/// escaped and cut there; the fields hold it as it came.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A provider is registered under this id already.
    DuplicateProvider {
        /// The id.
        provider: ProviderId,
    },
    /// No provider is registered under this id.
    UnknownProvider {
        /// The id.
        provider: ProviderId,
    },
    /// The provider contradicts itself about where data goes (C5). It is not
    /// registered, or no longer asked.
    Declaration {
        /// The provider.
        provider: ProviderId,
        /// Every rule its declaration breaks.
        violations: Vec<Violation>,
    },
    /// The two speak different versions, or the provider named none (H3).
    Version {
        /// The provider.
        provider: ProviderId,
        /// What it said; none if it was missing or no text.
        theirs: Option<String>,
    },
    /// Data would leave the machine and nobody has agreed to it (C1, C2, C6). Nothing was sent.
    Consent {
        /// The provider.
        provider: ProviderId,
        /// What it declared.
        data_flow: DataFlow,
        /// The off-machine scopes nobody has agreed to, in declaration order.
        scopes: Vec<EgressScope>,
    },
    /// The query itself breaks a rule (F4, `closed-word`). Nothing was sent.
    InvalidQuery {
        /// The provider it was meant for.
        provider: ProviderId,
        /// Every rule it breaks.
        violations: Vec<Violation>,
    },
    /// The provider is still occupied; nothing was sent and nothing is lost.
    Busy {
        /// The provider.
        provider: ProviderId,
        /// With what.
        with: Occupation,
        /// How long the caller waited for its turn.
        after: Duration,
    },
    /// A limit in time passed.
    Timeout {
        /// The provider.
        provider: ProviderId,
        /// Which limit.
        phase: Phase,
        /// How long it was.
        after: Duration,
    },
    /// The provider was started and did not say who it is.
    NoHandshake {
        /// The provider.
        provider: ProviderId,
        /// How long it was waited for.
        after: Duration,
        /// How many bytes it wrote meanwhile.
        received: u64,
        /// The last lines it wrote to stderr, as they came.
        stderr: Vec<String>,
    },
    /// The provider panicked; it is asked again next time.
    Panicked {
        /// The provider.
        provider: ProviderId,
        /// What the panic said.
        message: String,
    },
    /// The provider answered with an error of its own.
    Refused {
        /// The provider.
        provider: ProviderId,
        /// What kind; absent counts as `internal` (X2).
        code: Option<ErrorCode>,
        /// What it said.
        message: String,
    },
    /// The declared costs exceed the budget: all of its frames are dropped (B1, B2).
    BudgetLie {
        /// The provider.
        provider: ProviderId,
        /// The sum of declared costs.
        claimed_tokens: u64,
        /// The limit.
        max_tokens: u32,
        /// How many frames were dropped.
        dropped_frames: usize,
    },
    /// A declared cost is not the cost of the content: all of its frames are dropped (B2, B3).
    CostLie {
        /// The provider.
        provider: ProviderId,
        /// The frames whose cost is wrong.
        violations: Vec<Violation>,
        /// How many frames were dropped.
        dropped_frames: usize,
    },
    /// More frames than were asked for: all of them are dropped (B2, B4).
    FrameFlood {
        /// The provider.
        provider: ProviderId,
        /// How many came.
        returned_frames: usize,
        /// The limit.
        max_frames: u32,
    },
    /// Something other than the answer to the request came.
    Unexpected {
        /// The provider.
        provider: ProviderId,
        /// The type that was due.
        wanted: &'static str,
        /// What came.
        got: String,
    },
    /// A reply carries an id that does not belong to the request, or none (H4).
    Correlation {
        /// The provider.
        provider: ProviderId,
        /// The id of the request.
        expected: String,
        /// The id on the reply, if there was one.
        got: Option<String>,
    },
    /// What came is no message.
    Malformed {
        /// The provider.
        provider: ProviderId,
        /// Why not, fit to be shown.
        reason: String,
    },
    /// A message is longer than the limit.
    TooLong {
        /// The provider.
        provider: ProviderId,
        /// The limit in bytes.
        limit: usize,
    },
    /// The provider is gone.
    Closed {
        /// The provider.
        provider: ProviderId,
        /// What is known about its end.
        last_words: LastWords,
    },
    /// The provider could not be started.
    Spawn {
        /// The provider.
        provider: ProviderId,
        /// What was to be run, for a person.
        program: String,
        /// What is wrong with it, and what to do.
        reason: String,
        /// What the system said, if it said anything.
        source: Option<std::io::Error>,
    },
    /// Talking to the provider failed below the protocol.
    Io {
        /// The provider.
        provider: ProviderId,
        /// What the system said.
        source: std::io::Error,
    },
    /// This platform cannot do it.
    Unsupported {
        /// The provider.
        provider: ProviderId,
        /// What cannot be done.
        what: &'static str,
    },
}

/// Which limit in time passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Starting and shaking hands.
    Handshake,
    /// Handing over the request.
    Send,
    /// Waiting for the reply.
    Reply,
    /// Shutting down.
    Shutdown,
}

/// What keeps a provider from taking a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occupation {
    /// Another caller's request is being answered.
    AnotherRequest,
    /// A request whose caller has given up is still being answered.
    AbandonedRequest,
    /// It is being started.
    Starting,
}

/// What is known about the end of a provider that is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastWords {
    /// How it ended: `exit status: 3`, `signal: 9 (SIGKILL)`; none if it lives on or is unknown.
    pub status: Option<String>,
    /// Why we count it as gone.
    pub reason: String,
    /// The last lines it wrote to stderr, as they came.
    pub stderr: Vec<String>,
}

impl Error {
    /// A panic that was caught or joined.
    pub(crate) fn panicked(provider: &ProviderId, panic: &(dyn Any + Send)) -> Self {
        Self::Panicked {
            provider: provider.clone(),
            message: words_of(panic).to_owned(),
        }
    }

    /// Whom it concerns.
    #[must_use]
    pub fn provider(&self) -> &ProviderId {
        match self {
            Self::DuplicateProvider { provider }
            | Self::UnknownProvider { provider }
            | Self::Declaration { provider, .. }
            | Self::Version { provider, .. }
            | Self::Consent { provider, .. }
            | Self::InvalidQuery { provider, .. }
            | Self::Busy { provider, .. }
            | Self::Timeout { provider, .. }
            | Self::NoHandshake { provider, .. }
            | Self::Panicked { provider, .. }
            | Self::Refused { provider, .. }
            | Self::BudgetLie { provider, .. }
            | Self::CostLie { provider, .. }
            | Self::FrameFlood { provider, .. }
            | Self::Unexpected { provider, .. }
            | Self::Correlation { provider, .. }
            | Self::Malformed { provider, .. }
            | Self::TooLong { provider, .. }
            | Self::Closed { provider, .. }
            | Self::Spawn { provider, .. }
            | Self::Io { provider, .. }
            | Self::Unsupported { provider, .. } => provider,
        }
    }

    /// A word for the kind of error that stays the same from version to version, for scripts.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::DuplicateProvider { .. } => "duplicate_provider",
            Self::UnknownProvider { .. } => "unknown_provider",
            Self::Declaration { .. } => "declaration",
            Self::Version { .. } => "version",
            Self::Consent { .. } => "consent",
            Self::InvalidQuery { .. } => "invalid_query",
            Self::Busy { .. } => "busy",
            Self::Timeout { .. } => "timeout",
            Self::NoHandshake { .. } => "no_handshake",
            Self::Panicked { .. } => "panicked",
            Self::Refused { .. } => "refused",
            Self::BudgetLie { .. } => "budget_lie",
            Self::CostLie { .. } => "cost_lie",
            Self::FrameFlood { .. } => "frame_flood",
            Self::Unexpected { .. } => "unexpected",
            Self::Correlation { .. } => "correlation",
            Self::Malformed { .. } => "malformed",
            Self::TooLong { .. } => "too_long",
            Self::Closed { .. } => "closed",
            Self::Spawn { .. } => "spawn",
            Self::Io { .. } => "io",
            Self::Unsupported { .. } => "unsupported",
        }
    }

    /// What a host does about it, by the protocol's table where it has an entry.
    #[must_use]
    pub fn reaction(&self) -> Reaction {
        match self {
            Self::Refused { code, .. } => code.as_ref().unwrap_or(&ErrorCode::Internal).reaction(),
            Self::Busy { .. } | Self::Timeout { .. } => Reaction::RetryWithBackoff,
            Self::Closed { .. } => Reaction::RespawnOrDrop,
            Self::Version { .. } | Self::Declaration { .. } | Self::Unsupported { .. } => {
                Reaction::DropProvider
            }
            Self::DuplicateProvider { .. }
            | Self::UnknownProvider { .. }
            | Self::Consent { .. }
            | Self::InvalidQuery { .. }
            | Self::Spawn { .. } => Reaction::DoNotRetry,
            Self::NoHandshake { .. }
            | Self::Panicked { .. }
            | Self::BudgetLie { .. }
            | Self::CostLie { .. }
            | Self::FrameFlood { .. }
            | Self::Unexpected { .. }
            | Self::Correlation { .. }
            | Self::Malformed { .. }
            | Self::TooLong { .. }
            | Self::Io { .. } => Reaction::Report,
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

    /// What happened, without the provider's name in front.
    fn what(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateProvider { .. } => {
                f.write_str("a provider is registered under this id already; choose another id")
            }
            Self::UnknownProvider { .. } => f.write_str("no provider is registered under this id"),
            Self::Declaration { violations, .. } => {
                write!(f, "its declaration is refused: {}", List(violations))
            }
            Self::Version { theirs, .. } => match theirs {
                Some(theirs) => write!(
                    f,
                    "speaks `{}`, this host speaks `{PROTOCOL_VERSION}`",
                    shown(theirs)
                ),
                None => write!(
                    f,
                    "its protocol version is missing or malformed, this host speaks `{PROTOCOL_VERSION}`"
                ),
            },
            Self::Consent { scopes, .. } if scopes.is_empty() => f.write_str(
                "sends data off this machine (egress) and has no consent; nothing was sent",
            ),
            Self::Consent { scopes, .. } => write!(
                f,
                "sends data off this machine and has no consent for {}; nothing was sent",
                List(scopes)
            ),
            Self::InvalidQuery { violations, .. } => {
                write!(f, "the query is invalid: {}", List(violations))
            }
            Self::Busy { with, after, .. } => {
                let with = match with {
                    Occupation::AnotherRequest => "with another request",
                    Occupation::AbandonedRequest => "with a request whose caller has given up",
                    Occupation::Starting => "starting",
                };
                write!(
                    f,
                    "still busy {with} after {}; try again later",
                    Rounded(*after)
                )
            }
            Self::Timeout { phase, after, .. } => {
                let phase = match phase {
                    Phase::Handshake => "no handshake",
                    Phase::Send => "does not take the request",
                    Phase::Reply => "no answer",
                    Phase::Shutdown => "does not shut down",
                };
                write!(f, "{phase} within {}", Rounded(*after))
            }
            Self::NoHandshake {
                after,
                received,
                stderr,
                ..
            } => {
                write!(
                    f,
                    "no handshake within {}: it is alive and wrote {received} bytes; ",
                    Rounded(*after)
                )?;
                f.write_str(match received {
                    0 => "a likely cause is output that is not flushed after each line",
                    _ => "a likely cause is a line that is not ended",
                })?;
                f.write_str(", or it needs longer: raise the handshake timeout")?;
                last_lines(f, stderr)
            }
            Self::Panicked { message, .. } => write!(f, "panicked: {}", shown(message)),
            Self::Refused { code, message, .. } => {
                write!(f, "refused: {}", shown(message))?;
                match code {
                    Some(code) => write!(f, " ({code})"),
                    None => f.write_str(" (no code, so internal)"),
                }
            }
            Self::BudgetLie {
                claimed_tokens,
                max_tokens,
                dropped_frames,
                ..
            } => write!(
                f,
                "B1: declares {claimed_tokens} tokens, the limit is {max_tokens}; all {dropped_frames} frames dropped"
            ),
            Self::CostLie {
                violations,
                dropped_frames,
                ..
            } => write!(
                f,
                "{}; all {dropped_frames} frames dropped",
                List(violations)
            ),
            Self::FrameFlood {
                returned_frames,
                max_frames,
                ..
            } => write!(
                f,
                "B4: returned {returned_frames} frames, the limit is {max_frames}; all dropped"
            ),
            Self::Unexpected { wanted, got, .. } => {
                write!(f, "`{wanted}` was due, `{}` came", shown(got))
            }
            Self::Correlation { expected, got, .. } => match got {
                Some(got) => write!(
                    f,
                    "H4: a reply carries the id `{}` instead of `{expected}`",
                    shown(got)
                ),
                None => write!(f, "H4: a reply carries no id, `{expected}` was due"),
            },
            Self::Malformed { reason, .. } => write!(f, "its reply is no message: {reason}"),
            Self::TooLong { limit, .. } => {
                write!(f, "its message is longer than the limit of {limit} bytes")
            }
            Self::Closed { last_words, .. } => write!(f, "{last_words}"),
            Self::Spawn {
                program, reason, ..
            } => write!(f, "cannot start `{}`: {reason}", shown(program)),
            Self::Io { source, .. } => write!(f, "connection failed: {source}"),
            Self::Unsupported { what, .. } => write!(f, "{what} is not supported on this platform"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "provider `{}`: ", self.provider())?;
        self.what(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Spawn {
                source: Some(source),
                ..
            } => Some(source),
            // `Io` shows its source in the text already.
            _ => None,
        }
    }
}

/// What a panic said.
pub(crate) fn words_of(panic: &(dyn Any + Send)) -> &str {
    let words = panic.downcast_ref::<&str>().copied();
    let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    words.unwrap_or("no message")
}

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is gone: {}", self.reason)?;
        if let Some(status) = &self.status {
            write!(f, " ({status})")?;
        }
        last_lines(f, &self.stderr)
    }
}

fn last_lines(f: &mut fmt::Formatter<'_>, stderr: &[String]) -> fmt::Result {
    if !stderr.is_empty() {
        f.write_str("; last on stderr:")?;
    }
    for line in stderr {
        write!(f, " | {}", shown(line))?;
    }
    Ok(())
}

/// A duration to three figures: nobody reads microseconds.
struct Rounded(Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = Duration::from_millis(u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX));
        write!(f, "{}", humantime::format_duration(rounded))
    }
}

/// The first few of a list that a peer can make as long as it likes.
struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        for (index, it) in self.0.iter().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{it}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            n_more => write!(f, " and {n_more} more"),
        }
    }
}

#[cfg(test)]
mod tests;
