//! Depth by brackets, strings and comments left out.

use super::{Depth, Quotes};

pub(super) fn depths(lines: &[&str], quotes: Quotes) -> Vec<Depth> {
    let mut scanner = Scanner {
        quotes,
        state: State::Code,
        depth: 0,
    };
    lines
        .iter()
        .map(|line| scanner.line(line.as_bytes()))
        .collect()
}

struct Scanner {
    quotes: Quotes,
    state: State,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    Comment,
    /// A string, and what closes it.
    Text(u8),
    /// A raw string, and how many `#` close it.
    Raw(usize),
}

impl Scanner {
    fn line(&mut self, line: &[u8]) -> Depth {
        let closes_first = line
            .trim_ascii_start()
            .first()
            .is_some_and(|it| b")]}".contains(it));
        let start = self.depth;
        let mut at = 0;
        while at < line.len() {
            at += self.step(&line[at..]);
        }
        // Only Rust's strings and the backtick go on over a line's end.
        match self.state {
            State::Text(b'"') if self.quotes != Quotes::Rust => self.state = State::Code,
            State::Text(b'\'') => self.state = State::Code,
            _ => {}
        }
        Depth {
            // `} else {` is inside of what it closes and opens.
            start: if closes_first { start.max(1) } else { start },
            end: self.depth,
        }
    }

    /// Reads what stands first, and says how long it was.
    fn step(&mut self, rest: &[u8]) -> usize {
        match self.state {
            State::Code => self.code(rest),
            State::Comment => match rest.starts_with(b"*/") {
                true => self.enter(State::Code, 2),
                false => 1,
            },
            State::Text(close) => match rest[0] {
                b'\\' => 2,
                byte if byte == close => self.enter(State::Code, 1),
                _ => 1,
            },
            State::Raw(hashes) => {
                let closes = rest[0] == b'"' && count(&rest[1..], b'#') >= hashes;
                match closes {
                    true => self.enter(State::Code, 1 + hashes),
                    false => 1,
                }
            }
        }
    }

    fn code(&mut self, rest: &[u8]) -> usize {
        match rest[0] {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            b'/' if rest.starts_with(b"//") => return rest.len(),
            b'/' if rest.starts_with(b"/*") => return self.enter(State::Comment, 2),
            b'"' => return self.enter(State::Text(b'"'), 1),
            b'`' if self.quotes == Quotes::Script => return self.enter(State::Text(b'`'), 1),
            b'\'' if self.quotes == Quotes::Script => return self.enter(State::Text(b'\''), 1),
            b'\'' => return character(rest),
            b'r' if self.quotes == Quotes::Rust => {
                let hashes = count(&rest[1..], b'#');
                if rest.get(1 + hashes) == Some(&b'"') {
                    return self.enter(State::Raw(hashes), 2 + hashes);
                }
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                // A whole word, so that the `r` of `var"` opens nothing.
                let is_word = |it: &&u8| it.is_ascii_alphanumeric() || **it == b'_';
                return rest.iter().take_while(is_word).count();
            }
            _ => {}
        }
        1
    }

    fn enter(&mut self, state: State, length: usize) -> usize {
        self.state = state;
        length
    }
}

/// The length of a character such as `'{'` or `'\''`; 1 if it is a lifetime.
fn character(rest: &[u8]) -> usize {
    let (skipped, longest) = match rest.get(1) {
        Some(b'\\') => (3, 12),
        _ => (2, 6),
    };
    let close = rest
        .iter()
        .take(longest)
        .skip(skipped)
        .position(|it| *it == b'\'');
    close.map_or(1, |it| skipped + it + 1)
}

fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().take_while(|it| **it == wanted).count()
}
