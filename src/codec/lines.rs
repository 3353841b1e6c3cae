//! Bytes into lines, with a bound (SPEC.md, "Framing").

use std::ops::ControlFlow;

use memchr::memchr;

/// The longest line that is read unless told otherwise: 16 MiB.
pub const LINE_LIMIT: usize = 16 << 20;

/// A buffer this size is kept between lines; what a longer line needed is given back.
const KEPT: usize = 64 << 10;
/// How much of an over-long line is kept, to tell what it was.
const HEAD: usize = 256;

/// Puts together lines from pieces of any size.
///
/// A line that came in one piece is not copied. The buffer grows with the line and never beyond
/// the limit; what is longer is read past to its end.
#[derive(Debug)]
pub struct LineBuffer {
    limit: usize,
    partial: Vec<u8>,
    /// Bytes of the current line that were not kept, because it is over-long.
    skipped: usize,
}

/// What stood between two line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its `\n`; a `\r` before it is still there, and is white space in JSON.
    Whole(&'a [u8]),
    /// A line over the limit.
    TooLong {
        /// How it begins.
        head: &'a [u8],
        /// How long it is.
        bytes: usize,
    },
}

impl LineBuffer {
    /// For lines of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            partial: Vec::new(),
            skipped: 0,
        }
    }

    /// Whether the last byte ended a line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty() && self.skipped == 0
    }

    /// How many bytes of a line that has not ended have come.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.partial.len() + self.skipped
    }

    /// Takes bytes in and hands out every line they end, until `each` breaks.
    pub fn push<B>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(Line<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..at], &bytes[at + 1..]);
            if self.is_empty() && line.len() <= self.limit {
                each(Line::Whole(line))?;
            } else {
                self.keep(line);
                let flow = each(self.current());
                self.clear();
                flow?;
            }
            bytes = rest;
        }
        self.keep(bytes);
        ControlFlow::Continue(())
    }

    /// Hands out what came after the last line end, if anything did.
    pub fn finish<B>(&mut self, each: impl FnOnce(Line<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        if self.is_empty() {
            return ControlFlow::Continue(());
        }
        let flow = each(self.current());
        self.clear();
        flow
    }

    fn keep(&mut self, bytes: &[u8]) {
        let fits = self.skipped == 0 && self.partial.len() + bytes.len() <= self.limit;
        if fits {
            self.partial.extend_from_slice(bytes);
            return;
        }
        // The line is over-long from here on: only its head is kept.
        let before = self.pending();
        let wanted = HEAD.min(self.limit).saturating_sub(self.partial.len());
        self.partial
            .extend_from_slice(&bytes[..wanted.min(bytes.len())]);
        self.partial.truncate(HEAD.min(self.limit));
        self.partial.shrink_to(KEPT);
        self.skipped = before + bytes.len() - self.partial.len();
    }

    fn current(&self) -> Line<'_> {
        match self.skipped {
            0 => Line::Whole(&self.partial),
            _ => Line::TooLong {
                head: &self.partial,
                bytes: self.pending(),
            },
        }
    }

    fn clear(&mut self) {
        self.partial.clear();
        self.partial.shrink_to(KEPT);
        self.skipped = 0;
    }
}

/// A line without the byte order mark that some writers begin with.
pub(crate) fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// Whether nothing stands in a line; such a line is no message, and no fault either.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    without_mark(line).trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use proptest::prelude::*;

    use super::{Line, LineBuffer};

    /// The lines of some pieces; an over-long one as its length.
    fn split(pieces: &[&[u8]], limit: usize) -> Vec<Result<Vec<u8>, usize>> {
        let mut buffer = LineBuffer::new(limit);
        let mut found = Vec::new();
        let mut each = |line: Line<'_>| {
            found.push(match line {
                Line::Whole(line) => Ok(line.to_vec()),
                Line::TooLong { bytes, .. } => Err(bytes),
            });
            ControlFlow::<()>::Continue(())
        };
        for piece in pieces {
            let _ = buffer.push(piece, &mut each);
        }
        let _ = buffer.finish(&mut each);
        assert!(buffer.is_empty());
        found
    }

    #[track_caller]
    fn check(pieces: &[&[u8]], expected: &[Result<&[u8], usize>]) {
        let expected: Vec<_> = expected.iter().map(|it| it.map(<[u8]>::to_vec)).collect();
        assert_eq!(split(pieces, 4), expected);
    }

    #[test]
    fn lines_do_not_depend_on_pieces() {
        check(&[b"ab\ncd\n"], &[Ok(b"ab"), Ok(b"cd")]);
        check(&[b"a", b"b\nc", b"d\n"], &[Ok(b"ab"), Ok(b"cd")]);
        check(&[b"a\r\n\n"], &[Ok(b"a\r"), Ok(b"")]);
        check(&[b"last"], &[Ok(b"last")]);
        check(&[b""], &[]);
    }

    #[test]
    fn an_over_long_line_costs_itself() {
        check(&[b"12345\nab\n"], &[Err(5), Ok(b"ab")]);
        check(&[b"1234", b"5", b"6\nab\n"], &[Err(6), Ok(b"ab")]);
        check(&[b"1234\n"], &[Ok(b"1234")]);
        check(&[b"12345"], &[Err(5)]);
    }

    #[test]
    fn the_buffer_stays_within_the_limit() {
        let mut buffer = LineBuffer::new(1 << 20);
        for _ in 0..64 {
            let _ = buffer.push(&[b'x'; 64 << 10], |_| ControlFlow::<()>::Continue(()));
        }
        assert!(
            buffer.partial.capacity() <= 64 << 10,
            "{}",
            buffer.partial.capacity()
        );
        assert_eq!(buffer.pending(), 4 << 20);
    }

    #[test]
    fn stopping_early_loses_nothing_that_was_handed_out() {
        let mut buffer = LineBuffer::new(8);
        let flow = buffer.push(b"a\nb\n", |_| ControlFlow::Break(1));
        assert_eq!(flow, ControlFlow::Break(1));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_lines(
            text in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), any::<u8>()], 0..64),
            cuts in prop::collection::vec(1_usize..9, 1..9),
            limit in 1_usize..300,
        ) {
            let mut pieces = Vec::new();
            let mut rest = &text[..];
            let mut lengths = cuts.iter().cycle();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*lengths.next().unwrap()).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(split(&pieces, limit), split(&[&text], limit));
        }
    }
}
