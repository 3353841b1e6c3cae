//! Protocol versions: families either match byte for byte or not at all (H1, H3).

/// The version this crate speaks.
pub const PROTOCOL_VERSION: &str = "contextgraph/1.0";

/// What comparing two version strings came to; see [`compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// One family: the two understand each other.
    Same,
    /// Two families: nothing more may be said (H3).
    Other,
    /// Theirs is no version at all: no name, no `/`, or no major and minor part.
    Malformed,
}

/// Compares the version a peer sent with ours: by family, the text before the first dot.
///
/// Any minor version of the family matches, drafts included, and whatever follows the
/// first dot is the peer's own business (`contextgraph/1.0-rc1` and `contextgraph/1.0.3`
/// match). A text that has no family is malformed, which is an error of its own.
///
/// ```
/// use contextgraph_sync::wire::version::{VersionMatch, compare};
///
/// assert_eq!(compare("contextgraph/1.7"), VersionMatch::Same);
/// assert_eq!(compare("contextgraph/10.0"), VersionMatch::Other);
/// assert_eq!(compare("1.0"), VersionMatch::Malformed);
/// ```
#[must_use]
pub fn compare(theirs: &str) -> VersionMatch {
    match (family(theirs), family(PROTOCOL_VERSION)) {
        (None, _) => VersionMatch::Malformed,
        (theirs, ours) if theirs == ours => VersionMatch::Same,
        _ => VersionMatch::Other,
    }
}

/// The family of a version: `contextgraph/1` of `contextgraph/1.0`; none if it has none.
#[must_use]
pub fn family(version: &str) -> Option<&str> {
    let (family, _) = version.split_once('.')?;
    let (name, major) = family.split_once('/')?;
    (!name.is_empty() && !major.is_empty()).then_some(family)
}

#[cfg(test)]
mod tests {
    use super::VersionMatch::{Malformed, Other, Same};
    use super::compare;

    #[test]
    fn families_decide() {
        for (theirs, expected) in [
            ("contextgraph/1.0-draft", Same),
            ("contextgraph/1.0", Same),
            ("contextgraph/1.7", Same),
            ("contextgraph/1.12-draft", Same),
            ("contextgraph/1.0-rc1", Same),
            ("contextgraph/1.0.3", Same),
            ("contextgraph/1.", Same),
            ("contextgraph/2.0", Other),
            ("contextgraph/0.9", Other),
            ("contextgraph/10.0", Other),
            ("contextgraph/11.0-draft", Other),
            ("contextgraph/01.0", Other),
            ("ContextGraph/1.0", Other),
            ("otherproto/1.0", Other),
            (" contextgraph/1.0", Other),
            ("contextgraph/1", Malformed),
            ("contextgraph/", Malformed),
            ("1.0", Malformed),
            ("", Malformed),
        ] {
            assert_eq!(compare(theirs), expected, "{theirs:?}");
        }
    }
}
