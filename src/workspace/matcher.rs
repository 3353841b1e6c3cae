//! How often a text speaks of each term of a question, and how prominently.

use std::collections::HashMap;
use std::path::Path;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

use crate::workspace::outline::Language;
use crate::workspace::terms;

/// What a mention weighs where something is defined, or in a heading; elsewhere it weighs 1.
const PROMINENT: f32 = 4.0;
/// A text with more hits than this is a table of the word, and counting on tells nothing more.
const MAX_HITS: usize = 5_000;

/// Words that say that the name of something follows.
const DEFINERS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "type",
    "const",
    "static",
    "macro_rules",
    "union",
    "def",
    "class",
    "interface",
    "func",
    "function",
    "module",
    "namespace",
    "record",
    "protocol",
    "object",
    "message",
    "service",
    "defmodule",
    "defp",
];

/// The terms of one question.
#[derive(Debug)]
pub(super) struct Matcher {
    terms: HashMap<String, usize>,
    automaton: AhoCorasick,
}

/// The weighted count of every term in one text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tally(pub(super) Box<[f32]>);

impl Matcher {
    pub(super) fn new(terms: &[String]) -> Result<Self, BuildError> {
        // What every form of a word begins with: `retri` is the stem of `retry`.
        let beginnings = terms.iter().map(|it| match it.strip_suffix('i') {
            Some(rest) if rest.len() >= 3 => rest,
            _ => it,
        });
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(beginnings)?;
        let terms = terms.iter().cloned().enumerate();
        Ok(Self {
            terms: terms.map(|(index, term)| (term, index)).collect(),
            automaton,
        })
    }

    /// How many terms there are.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    pub(super) fn none(&self) -> Tally {
        Tally(vec![0.0; self.len()].into())
    }

    /// Counts the terms of a text.
    pub(super) fn tally(&self, text: &str, language: Language) -> Tally {
        let mut tally = self.none();
        let bytes = text.as_bytes();
        for hit in self.automaton.find_iter(bytes).take(MAX_HITS) {
            let start = hit.start();
            if !terms::starts_word(bytes, start) {
                continue;
            }
            let end = terms::word_end(bytes, start);
            let word = text.get(start..end).map(terms::stem);
            if let Some(&term) = word.and_then(|it| self.terms.get(&it)) {
                let is_prominent = is_prominent(bytes, start, language);
                tally.0[term] += if is_prominent { PROMINENT } else { 1.0 };
            }
        }
        tally
    }

    /// What the name of a file says: its own name much, its directories a little.
    pub(super) fn tally_path(&self, path: &Path) -> Tally {
        let mut tally = self.none();
        const NAME: f32 = 3.0;
        const DIRECTORY: f32 = 1.0;
        let names: Vec<_> = path.iter().rev().filter_map(|it| it.to_str()).collect();
        for (depth, name) in names.into_iter().enumerate() {
            let weight = if depth == 0 { NAME } else { DIRECTORY };
            self.add_text(name, weight, &mut tally);
        }
        tally
    }

    /// Adds a fixed weight for every term that a text names at all.
    pub(super) fn add_text(&self, text: &str, weight: f32, tally: &mut Tally) {
        let named = self.tally(text, Language::Other);
        for (sum, count) in tally.0.iter_mut().zip(named.0) {
            *sum += if count > 0.0 { weight } else { 0.0 };
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(&other.0) {
            *sum += count;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|it| *it == 0.0)
    }
}

/// Whether a word stands in a heading, or in the name that a definition gives.
fn is_prominent(text: &[u8], start: usize, language: Language) -> bool {
    const LOOK_BACK: usize = 160;
    let window = &text[start.saturating_sub(LOOK_BACK)..start];
    let line_start = window
        .iter()
        .rposition(|it| *it == b'\n')
        .map_or(0, |it| it + 1);
    let before = &window[line_start..];
    match language {
        Language::Prose => before.starts_with(b"#"),
        Language::Tables => before.starts_with(b"["),
        _ => {
            let in_name = |it: &u8| it.is_ascii_alphanumeric() || *it == b'_';
            let name = before.iter().rev().take_while(|it| in_name(it)).count();
            let before = before[..before.len() - name].trim_ascii_end();
            let keyword = before.iter().rev().take_while(|it| in_name(it)).count();
            let keyword = &before[before.len() - keyword..];
            DEFINERS.iter().any(|it| it.as_bytes() == keyword)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Matcher;
    use crate::workspace::outline::{Language, Quotes};
    use crate::workspace::terms::of_question;

    const RUST: Language = Language::Braces(Quotes::Rust);

    #[track_caller]
    fn counts(question: &str, text: &str, language: Language, expected: &[f32]) {
        let matcher = Matcher::new(&of_question(question)).unwrap();
        assert_eq!(*matcher.tally(text, language).0, *expected, "{text}");
    }

    #[test]
    fn every_form_and_spelling_counts() {
        counts(
            "retry",
            "retries RETRY retryPolicy MAX_RETRIES",
            RUST,
            &[4.0],
        );
        counts("retry", "entry tryretry retrying", RUST, &[1.0]);
        counts(
            "time timestamp",
            "timestamps and times, TimeStamp",
            RUST,
            &[2.0, 1.0],
        );
        counts("café", "the café", RUST, &[1.0]);
    }

    #[test]
    fn definitions_and_headings_weigh_more() {
        counts(
            "retry delay",
            "fn retry_delay() { retry }",
            RUST,
            &[5.0, 4.0],
        );
        counts("retry", "# On retries\nretry", Language::Prose, &[5.0]);
        counts("retry", "[retry]\nretry = 1", Language::Tables, &[5.0]);
        counts("retry", "let retry = 1;", RUST, &[1.0]);
    }

    #[test]
    fn names_of_files_count() {
        let matcher = Matcher::new(&of_question("wire time")).unwrap();
        let tally = matcher.tally_path(Path::new("src/wire/time.rs"));
        assert_eq!(*tally.0, [1.0, 3.0]);
    }
}
