//! What the protocol forbids, as pure functions that return every violation by name.
//!
//! The functions judge and change nothing: what follows from a violation is decided by who
//! asks. A host excludes or drops ([`crate::host`]), a suite fails the check.

mod declaration;
mod frame;
mod reply;

use std::fmt;

pub use declaration::{check_capabilities, check_info, check_query};
pub(crate) use frame::NO_DIGEST;
pub use frame::check_frame;
pub use reply::{check_reply, holds_at};

use crate::wire::text::shown;

/// The name of a rule, as SPEC.md spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// The declared costs of an answer stay within `max_tokens`.
    B1,
    /// A cost is the content's UTF-8 bytes divided by four, rounded up.
    B3,
    /// An answer has at most `max_frames` frames.
    B4,
    /// Scopes are well formed, and none is off-machine beside `egress: false`.
    C5,
    /// A content digest is `sha256:` and 64 lower-case hex digits.
    D1,
    /// A content digest is that of the inline content.
    D4,
    /// A score lies in 0 to 1.
    F1,
    /// A title is there.
    F2,
    /// A citation label is there.
    F3,
    /// A timestamp follows the strict UTC profile.
    F4,
    /// A `file` provenance link carries a digest.
    F5,
    /// A relation has a display name.
    G1,
    /// A relation has a target.
    G2,
    /// A provider has a name and a version.
    H2,
    /// What a `full` frame must and must not carry.
    P1,
    /// What a `compact` frame must carry.
    P2,
    /// What a `reference` frame must and must not carry.
    P3,
    /// Only the kinds that were asked for.
    Q1,
    /// The validity window of a frame holds the instant that was asked for.
    AsOf,
    /// A word in a closed list is one of the list's.
    ClosedWord,
    /// A frame has an id.
    FrameIdentity,
    /// A frame is the answer's only one under its identity.
    OneContent,
    /// `compact` and `reference` need `resolve`.
    Resolve,
    /// A member or an element can be decoded.
    Decode,
}

impl Rule {
    /// The anchor in SPEC.md.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::B1 => "B1",
            Self::B3 => "B3",
            Self::B4 => "B4",
            Self::C5 => "C5",
            Self::D1 => "D1",
            Self::D4 => "D4",
            Self::F1 => "F1",
            Self::F2 => "F2",
            Self::F3 => "F3",
            Self::F4 => "F4",
            Self::F5 => "F5",
            Self::G1 => "G1",
            Self::G2 => "G2",
            Self::H2 => "H2",
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
            Self::Q1 => "Q1",
            Self::AsOf => "as-of",
            Self::ClosedWord => "closed-word",
            Self::FrameIdentity => "frame-id",
            Self::OneContent => "one-content",
            Self::Resolve => "resolve",
            Self::Decode => "decode",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One broken rule: which, where, and what was there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Position of the frame in its answer, from 0; none if the whole answer is meant.
    pub frame: Option<usize>,
    /// The member, such as `score` or `provenance[1].digest`; empty if no single one is meant.
    pub member: String,
    /// For a person. Text of the peer in it is escaped and cut.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(rule: Rule, member: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            rule,
            frame: None,
            member: member.into(),
            message: message.into(),
        }
    }

    pub(crate) fn in_frame(self, index: usize) -> Self {
        Self {
            frame: Some(index),
            ..self
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule)?;
        if let Some(index) = self.frame {
            write!(f, "frames[{index}]: ")?;
        }
        if !self.member.is_empty() {
            write!(f, "{}: ", shown(&self.member))?;
        }
        f.write_str(&self.message)
    }
}

/// The words of a closed list that are not on it, as violations.
macro_rules! closed_words {
    ($found:ident, $( $member:expr => $word:expr ),+ $(,)?) => {
        $(
            if !$word.is_known() {
                let message = format!("`{}` is not a word of this list", $word);
                $found.push(Violation::new(Rule::ClosedWord, $member, message));
            }
        )+
    };
}
pub(crate) use closed_words;
