//! Why a text does not follow one of the small grammars of the wire.

use std::fmt;

use crate::wire::text::shown;

/// A text that breaks a grammar: what it should be, and a hint where it seems to come from.
///
/// Given by [`Timestamp::parse`](crate::wire::Timestamp::parse) and
/// [`Digest::parse`](crate::wire::Digest::parse).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError {
    text: String,
    wanted: &'static str,
    hint: Option<&'static str>,
}

impl GrammarError {
    pub(crate) fn new(text: &str, wanted: &'static str, hint: Option<&'static str>) -> Self {
        Self {
            text: shown(text).limit(100).to_string(),
            wanted,
            hint,
        }
    }

    /// What the text most likely is instead, if it looks like something known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.text, self.wanted)?;
        match self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for GrammarError {}
