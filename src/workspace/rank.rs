//! BM25: what a text is worth to a question, given what all texts are like.

use std::path::Path;

use crate::workspace::matcher::Tally;

/// How fast further mentions of a term stop to count.
const K1: f32 = 1.2;

/// How rare each term is, and how long texts are on average.
#[derive(Clone, Debug)]
pub(super) struct Statistics {
    idf: Vec<f32>,
    average: f32,
    /// How much the length of a text counts, 0 to 1.
    b: f32,
}

impl Statistics {
    /// `holding` says how many of `n_texts` hold each term.
    pub(super) fn new(n_texts: u64, holding: &[u64], average_bytes: f32, b: f32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact counts")]
        let idf = |n: &u64| {
            let (all, with) = (n_texts as f32, *n as f32);
            (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
        };
        Self {
            idf: holding.iter().map(idf).collect(),
            average: average_bytes.max(1.0),
            b,
        }
    }

    /// The same terms for texts of another kind.
    pub(super) fn for_length(&self, average_bytes: f32, b: f32) -> Self {
        Self {
            average: average_bytes,
            b,
            ..self.clone()
        }
    }

    /// From 0 to 1: the share of what a text could be worth at most. A text that has all of the
    /// terms a little beats one that has a single term often.
    pub(super) fn score(&self, tally: &Tally, bytes: usize) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact counts")]
        let length = bytes as f32 / self.average;
        let norm = K1 * (1.0 - self.b + self.b * length);
        let (mut sum, mut covered, mut all) = (0.0, 0.0, 0.0);
        for (&count, &idf) in tally.0.iter().zip(&self.idf) {
            all += idf;
            if count > 0.0 {
                covered += idf;
                sum += idf * count / (count + norm);
            }
        }
        if all == 0.0 {
            0.0
        } else {
            sum / all * (0.4 + 0.6 * covered / all)
        }
    }
}

/// What the place of a file says about its worth: tests, lock files and what a machine wrote
/// answer questions less often. A question that names such a place takes it as it is.
pub(super) fn weight_of_place(path: &Path, question: &str) -> f32 {
    let Some(name) = path.file_name().and_then(|it| it.to_str()) else {
        return 1.0;
    };
    let name = name.to_ascii_lowercase();
    let asked_for = |word: &str| question.contains(word);
    let inside = |names: &[&str]| {
        let mut directories = path.parent().into_iter().flat_map(Path::iter);
        directories.any(|it| names.iter().any(|name| it.eq_ignore_ascii_case(name)))
    };
    let mut weight: f32 = 1.0;
    if !asked_for("lock")
        && (name.ends_with(".lock")
            || name.ends_with("-lock.json")
            || name.ends_with("-lock.yaml")
            || name == "go.sum")
    {
        weight *= 0.1;
    }
    let is_test = inside(&[
        "test",
        "tests",
        "testing",
        "__tests__",
        "spec",
        "specs",
        "testdata",
        "fixtures",
    ]) || ["tests.rs", "test.rs", "conftest.py"].contains(&name.as_str())
        || ["_test.", ".test.", ".spec.", "_spec."]
            .iter()
            .any(|it| name.contains(it))
        || name.starts_with("test_");
    if is_test && !asked_for("test") && !asked_for("spec") {
        weight *= 0.5;
    }
    if inside(&["bench", "benches", "benchmarks"]) && !asked_for("bench") {
        weight *= 0.4;
    }
    if inside(&[
        "vendor",
        "third_party",
        "node_modules",
        "generated",
        "dist",
        "build",
    ]) && !asked_for("vendor")
        && !asked_for("generated")
    {
        weight *= 0.4;
    }
    if (name.contains(".min.") || name.ends_with(".map") || name.contains("generated"))
        && !asked_for("generated")
    {
        weight *= 0.2;
    }
    if name.starts_with("changelog") && !asked_for("change") && !asked_for("version") {
        weight *= 0.6;
    }
    if (name.starts_with("license") || name.starts_with("licence") || name.starts_with("copying"))
        && !asked_for("licen")
    {
        weight *= 0.3;
    }
    let data = [
        ".json", ".csv", ".tsv", ".svg", ".xml", ".ndjson", ".jsonl", ".log", ".sql",
    ];
    if data.iter().any(|it| name.ends_with(it)) {
        weight *= 0.5;
    }
    weight
}

/// What the beginning of a file says about its worth: whether a machine wrote it.
pub(super) fn weight_of_text(text: &str) -> f32 {
    const HEAD: usize = 1024;
    let head = &text[..crate::wire::text::floor_char_boundary(text, HEAD)];
    let says_so = [
        "@generated",
        "DO NOT EDIT",
        "do not edit",
        "automatically generated",
        "Automatically generated",
    ];
    let longest = head.split('\n').map(str::len).max().unwrap_or(0);
    if says_so.iter().any(|it| head.contains(it)) {
        0.3
    } else if longest > 600 {
        0.4
    } else {
        1.0
    }
}

/// What a piece says about its own worth: tests that stand beside the code answer less often.
pub(super) fn weight_of_piece(title: &str, text: &str, question: &str) -> f32 {
    let is_test = title.starts_with("mod test")
        || ["#[test]", "#[cfg(test)]", "@Test", "@pytest"]
            .iter()
            .any(|it| text.contains(it));
    if is_test && !question.contains("test") {
        0.5
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Statistics, weight_of_piece, weight_of_place, weight_of_text};
    use crate::workspace::matcher::Tally;

    fn tally(counts: &[f32]) -> Tally {
        Tally(counts.into())
    }

    #[test]
    fn rare_terms_and_all_terms_count_more() {
        let statistics = Statistics::new(1000, &[1, 50], 1000.0, 0.5);
        let score = |counts: &[f32], bytes| statistics.score(&tally(counts), bytes);
        assert!(score(&[1.0, 0.0], 1000) > score(&[0.0, 9.0], 1000));
        assert!(score(&[1.0, 1.0], 1000) > score(&[2.0, 0.0], 1000));
        assert!(score(&[1.0, 0.0], 100) > score(&[1.0, 0.0], 9000));
        assert!(score(&[1e6, 1e6], 1000) <= 1.0);
        assert_eq!(score(&[0.0, 0.0], 0), 0.0);
    }

    #[test]
    fn no_texts_and_no_terms_are_worth_nothing() {
        assert_eq!(Statistics::new(0, &[], 0.0, 0.5).score(&tally(&[]), 0), 0.0);
        assert!(
            Statistics::new(1, &[1], 0.0, 0.5)
                .score(&tally(&[1.0]), 10)
                .is_finite()
        );
    }

    #[test]
    fn places_that_answer_less_often() {
        let weight = |path: &str| weight_of_place(Path::new(path), "how is it done");
        assert_eq!(weight("src/net.rs"), 1.0);
        for path in [
            "Cargo.lock",
            "tests/net.rs",
            "src/net/tests.rs",
            "a/vendor/b.c",
            "x.min.js",
            "data.json",
            "src/net_test.go",
        ] {
            assert!(weight(path) < 1.0, "{path}");
        }
        assert_eq!(
            weight_of_place(Path::new("tests/net.rs"), "which test covers it"),
            1.0
        );
        assert_eq!(
            weight_of_place(Path::new("Cargo.lock"), "what is in the lock file"),
            1.0
        );
    }

    #[test]
    fn tests_beside_the_code() {
        assert_eq!(weight_of_piece("fn a()", "fn a() {}", "how"), 1.0);
        assert_eq!(
            weight_of_piece("mod tests › fn a()", "fn a() {}", "test"),
            1.0
        );
        for (title, text) in [
            ("mod tests › fn a()", "fn a() {}"),
            ("fn a()", "#[test]\nfn a() {}"),
        ] {
            assert!(weight_of_piece(title, text, "how") < 1.0);
        }
    }

    #[test]
    fn what_a_machine_wrote() {
        assert_eq!(weight_of_text("fn main() {}"), 1.0);
        assert!(weight_of_text("// @generated by x") < 1.0);
        assert!(weight_of_text(&"x".repeat(2000)) < 1.0);
    }
}
