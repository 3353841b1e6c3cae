//! Which lines of a file a link of provenance addresses (F5).

use std::fmt;

use crate::wire::grammar::GrammarError;

/// A range of lines, counted from 1, both ends included.
///
/// A line includes its line end as it is stored, and a file that does not end in one still ends
/// in a line. So the digest over a range is over exact bytes: nothing is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineRange {
    first: usize,
    last: usize,
}

impl LineRange {
    const WANTED: &'static str = "a range of lines: L<n> or L<a>-<b>, from 1";

    /// The lines from `first` to `last`; none if that is no range.
    #[must_use]
    pub fn new(first: usize, last: usize) -> Option<Self> {
        (1 <= first && first <= last).then_some(Self { first, last })
    }

    /// Reads `L<n>` or `L<a>-<b>`.
    ///
    /// # Errors
    ///
    /// Anything else. A range that cannot be read is never taken for the whole file.
    pub fn parse(text: &str) -> Result<Self, GrammarError> {
        let range = text.strip_prefix('L').and_then(|lines| {
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            Self::new(number(first)?, number(last)?)
        });
        let hint = match text.split_once("-L") {
            Some(_) => Some("only the first number has an L"),
            None if text.starts_with('l') => Some("a capital L"),
            None => None,
        };
        range.ok_or_else(|| GrammarError::new(text, Self::WANTED, hint))
    }

    /// The first line.
    #[must_use]
    pub fn first(self) -> usize {
        self.first
    }

    /// The last line, itself included.
    #[must_use]
    pub fn last(self) -> usize {
        self.last
    }

    /// The bytes of these lines; none if the text ends before the first one. A range that ends
    /// beyond the last line ends there.
    ///
    /// ```
    /// use contextgraph_sync::digest::range::LineRange;
    ///
    /// let range = LineRange::parse("L2-9").unwrap();
    /// assert_eq!(range.slice(b"one\ntwo\r\nthree"), Some(&b"two\r\nthree"[..]));
    /// ```
    #[must_use]
    pub fn slice(self, text: &[u8]) -> Option<&[u8]> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines.by_ref().take(self.first - 1).map(<[u8]>::len).sum();
        let count = self.last - self.first + 1;
        let inside: usize = lines.take(count).map(<[u8]>::len).sum();
        (inside > 0).then(|| &text[before..before + inside])
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}-{}", self.first, self.last)
    }
}

/// Decimal digits and nothing else: no sign, no space.
fn number(text: &str) -> Option<usize> {
    let digits_only = text.bytes().all(|byte| byte.is_ascii_digit());
    digits_only.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::LineRange;

    #[track_caller]
    fn lines(text: &str, range: &str, expected: Option<&str>) {
        let range = LineRange::parse(range).unwrap();
        assert_eq!(range.slice(text.as_bytes()), expected.map(str::as_bytes));
    }

    #[test]
    fn a_line_includes_its_end_as_stored() {
        let crlf = "alpha\r\nbeta\r\n\r\ngamma 文\r\ndelta";
        lines(crlf, "L1", Some("alpha\r\n"));
        lines(crlf, "L1-1", Some("alpha\r\n"));
        lines(crlf, "L2-4", Some("beta\r\n\r\ngamma 文\r\n"));
        lines(crlf, "L5", Some("delta"));
        lines(crlf, "L4-99", Some("gamma 文\r\ndelta"));
        lines("one\ntwo\n", "L1-2", Some("one\ntwo\n"));
        lines("\n\nx\n", "L2", Some("\n"));
        lines("one\n", "L01", Some("one\n"));
    }

    #[test]
    fn beyond_the_end_there_is_nothing() {
        lines("one\ntwo\n", "L3", None);
        lines("one\ntwo\n", "L18446744073709551615", None);
        lines("", "L1", None);
        lines("", "L1-2", None);
    }

    #[test]
    fn anything_else_is_no_range() {
        for text in [
            "L0",
            "L3-2",
            "L",
            "L1-",
            "L-3",
            "l1-2",
            "1-2",
            "L1–2",
            "L1-L2",
            "L+1",
            "L 1",
            "L1 ",
            "L1-2-3",
            "",
            "L99999999999999999999",
            "L0-1",
        ] {
            assert!(LineRange::parse(text).is_err(), "{text}");
        }
        let hint = |text| LineRange::parse(text).unwrap_err().hint();
        assert_eq!(hint("L1-L2"), Some("only the first number has an L"));
        assert_eq!(hint("l1"), Some("a capital L"));
    }

    #[test]
    fn what_is_written_is_read() {
        let range = LineRange::new(3, 7).unwrap();
        assert_eq!(range.to_string(), "L3-7");
        assert_eq!(LineRange::parse("L3-7"), Ok(range));
    }
}
