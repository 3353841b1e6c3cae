//! The last lines of a stream that nobody reads for its own sake.

use std::collections::VecDeque;

/// How many lines of stderr are kept, and how much of each.
const KEPT_LINES: usize = 20;
const KEPT_BYTES: usize = 500;
/// The last lines of stderr.
#[derive(Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    partial: Vec<u8>,
}

impl Tail {
    /// Takes bytes in, and hands out every line they end.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|it| *it == b'\n') {
            let room = KEPT_BYTES - self.partial.len().min(KEPT_BYTES);
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            self.partial
                .extend_from_slice(&text[..text.len().min(room)]);
            if part.len() == text.len() {
                continue;
            }
            let line = String::from_utf8_lossy(&self.partial).trim_end().to_owned();
            self.partial.clear();
            each(&line);
            if self.lines.len() == KEPT_LINES {
                self.lines.pop_front();
            }
            self.lines.push_back(line);
        }
    }

    /// The last lines, the one that has not ended included.
    pub(super) fn lines(&self) -> Vec<String> {
        let partial = String::from_utf8_lossy(&self.partial);
        let partial = (!partial.is_empty()).then(|| partial.into_owned());
        self.lines.iter().cloned().chain(partial).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES, KEPT_LINES, Tail};

    #[test]
    fn the_last_lines_are_kept_whatever_the_pieces() {
        let mut tail = Tail::default();
        let mut seen = Vec::new();
        for piece in ["one\ntw", "o\r\n", "", "half"] {
            tail.push(piece.as_bytes(), |line| seen.push(line.to_owned()));
        }
        assert_eq!(seen, ["one", "two"]);
        assert_eq!(tail.lines(), ["one", "two", "half"]);
    }

    #[test]
    fn a_flood_costs_a_bounded_memory() {
        let mut tail = Tail::default();
        for _ in 0..1000 {
            tail.push(&[b'x'; 5000], |_| ());
        }
        assert_eq!(tail.lines(), ["x".repeat(KEPT_BYTES)]);
        tail.push(&b"\n".repeat(1000), |_| ());
        assert_eq!(tail.lines().len(), KEPT_LINES);
    }
}
