//! Words: what a question asks for and what a file says, made comparable.
//!
//! Text and code spell one idea in many ways: `retry_policy`, `RetryPolicy`, "retries". A word
//! is therefore a run of letters or digits that ends where the case or the class changes, and
//! two words are the same if their stems are.

use std::collections::HashSet;
use std::ops::Range;

/// A question is cut to this many different words; the first ones count.
pub(super) const MAX_TERMS: usize = 32;
/// A longer run of letters is data, not a word.
const MAX_WORD: usize = 40;

/// Words that a question is full of and that say nothing about its subject.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "for", "from",
    "get", "gets", "give", "given", "had", "happen", "happens", "has", "have", "having", "he",
    "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let",
    "like", "made", "make", "makes", "many", "may", "me", "might", "more", "most", "much", "must",
    "my", "no", "not", "of", "off", "on", "only", "or", "our", "out", "over", "please", "shall",
    "she", "should", "show", "so", "some", "such", "tell", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "too", "under", "up", "us", "use",
    "used", "uses", "using", "very", "was", "way", "we", "were", "what", "when", "where", "which",
    "while", "who", "whom", "whose", "why", "will", "with", "work", "works", "would", "you",
    "your",
];

/// The words of a question that are worth searching for, stemmed, in order, each once.
///
/// If it consists of nothing but stop words they count after all: somebody may search for
/// `use`.
pub(super) fn of_question(text: &str) -> Vec<String> {
    let all: Vec<String> = words(text.as_bytes())
        .map(|range| text[range].to_lowercase())
        .collect();
    let telling: Vec<&String> = all
        .iter()
        .filter(|it| !STOP_WORDS.contains(&it.as_str()))
        .collect();
    let chosen = if telling.is_empty() {
        all.iter().collect()
    } else {
        telling
    };
    let mut seen = HashSet::new();
    chosen
        .into_iter()
        .map(|it| stem(it))
        .filter(|it| seen.insert(it.clone()))
        .take(MAX_TERMS)
        .collect()
}

/// The words of a text, as ranges of bytes. Every byte beyond ASCII counts as a letter.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += text[at..].iter().position(|it| is_word(*it))?;
            let start = at;
            at = word_end(text, start);
            if at - start <= MAX_WORD {
                return Some(start..at);
            }
        }
    })
}

/// Whether a word begins at `at`.
pub(super) fn starts_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|it| text[it]) else {
        return true;
    };
    if !is_word(before) {
        return true;
    }
    let first = text[at];
    match (class(before), class(first)) {
        (Class::Upper, Class::Upper) => {
            // The last capital of a run begins a word if a small letter follows: `HTTPServer`.
            text.get(at + 1).is_some_and(u8::is_ascii_lowercase)
        }
        (Class::Upper, Class::Lower) => false,
        (before, first) => before != first,
    }
}

/// Where the word that begins at `start` ends.
pub(super) fn word_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() && is_word(text[at]) && !starts_word(text, at) {
        at += 1;
    }
    at
}

/// The part of a word that its plural, its tenses and its agent share.
pub(super) fn stem(word: &str) -> String {
    let mut word = word.to_lowercase();
    if word.len() <= 3 || !word.is_ascii() {
        return word;
    }
    if word.ends_with("ies") && word.len() > 4 {
        replace_end(&mut word, 3, "y");
    } else if word.ends_with("sses")
        || word.ends_with("xes")
        || word.ends_with("ches")
        || word.ends_with("shes")
    {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|it| word.ends_with(it)) {
        word.pop();
    }
    for (suffix, least) in [
        ("ization", 3),
        ("ations", 3),
        ("ation", 4),
        ("ments", 4),
        ("ment", 4),
        ("ing", 3),
        ("ed", 3),
        ("er", 4),
        ("or", 4),
    ] {
        let Some(rest) = word.strip_suffix(suffix) else {
            continue;
        };
        if rest.len() >= least && rest.bytes().any(is_vowel) {
            let length = rest.len();
            word.truncate(length);
            undouble(&mut word);
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('y') {
        replace_end(&mut word, 1, "i");
    }
    word
}

fn replace_end(word: &mut String, length: usize, by: &str) {
    word.truncate(word.len() - length);
    word.push_str(by);
}

/// `stopp` is `stop`; `call` stays.
fn undouble(word: &mut String) {
    let mut last = word.bytes().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
        && !is_vowel(a)
        && !b"lsz".contains(&a)
    {
        word.pop();
    }
}

fn is_vowel(byte: u8) -> bool {
    b"aeiouy".contains(&byte)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
}

fn class(byte: u8) -> Class {
    match byte {
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Lower,
    }
}

#[cfg(test)]
mod tests {
    use super::{of_question, starts_word, stem, words};

    #[track_caller]
    fn split(text: &str, expected: &[&str]) {
        let found: Vec<_> = words(text.as_bytes()).map(|it| &text[it]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn code_falls_into_words() {
        split("retry_policy", &["retry", "policy"]);
        split(
            "RetryPolicy::parseHTTPServer",
            &["Retry", "Policy", "parse", "HTTP", "Server"],
        );
        split("sha256 utf8", &["sha", "256", "utf", "8"]);
        split("src/wire-time.rs", &["src", "wire", "time", "rs"]);
        split("café 文脈", &["café", "文脈"]);
        split("", &[]);
        split(&"x".repeat(41), &[]);
    }

    #[test]
    fn a_word_starts_where_splitting_starts_one() {
        for text in ["RetryPolicy_parseHTTPServer2x café", "a1B2", "__", "ABc"] {
            let starts: Vec<_> = words(text.as_bytes()).map(|it| it.start).collect();
            let is_start = |at: &usize| {
                text.as_bytes()[*at] != b'_'
                    && text.as_bytes()[*at] != b' '
                    && starts_word(text.as_bytes(), *at)
            };
            let expected: Vec<_> = (0..text.len()).filter(is_start).collect();
            assert_eq!(starts, expected, "{text}");
        }
    }

    #[test]
    fn one_stem_for_the_forms_of_a_word() {
        for forms in [
            &["compare", "compares", "compared", "comparing"][..],
            &["retry", "retries", "retried"],
            &["timeout", "timeouts"],
            &["stop", "stopped", "stopping", "stops"],
            &["parse", "parser", "parsing", "parsed", "parsers"],
            &["class", "classes"],
            &["match", "matches", "matching"],
            &["call", "calls", "called", "calling"],
            &["iterator", "iterators"],
            &["validate", "validated", "validator"],
        ] {
            let stems: Vec<_> = forms.iter().map(|it| stem(it)).collect();
            assert!(
                stems.windows(2).all(|it| it[0] == it[1]),
                "{forms:?} {stems:?}"
            );
        }
    }

    #[test]
    fn different_words_stay_different() {
        for (a, b) in [
            ("status", "state"),
            ("red", "ring"),
            ("is", "as"),
            ("bus", "bu"),
            ("thing", "the"),
        ] {
            assert_ne!(stem(a), stem(b));
        }
    }

    #[test]
    fn a_question_is_its_telling_words() {
        assert_eq!(
            of_question("How is a timestamp compared?"),
            ["timestamp", "compar"]
        );
        assert_eq!(of_question("use the"), ["use", "the"]);
        assert_eq!(
            of_question("RetryPolicy retry retries"),
            ["retri", "polici"]
        );
        assert!(of_question(" ?! ").is_empty());
    }
}
