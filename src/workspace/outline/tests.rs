use proptest::prelude::*;

use super::{Language, Limits, Quotes, lines, pieces};

const ROOM: Limits = Limits {
    lines: 60,
    bytes: 4000,
};
const TIGHT: Limits = Limits {
    lines: 6,
    bytes: 4000,
};

/// The pieces as `first-last title`, lines from 1.
#[track_caller]
fn check(language: Language, limits: Limits, text: &str, expected: &[&str]) {
    let found: Vec<_> = pieces(language, &lines(text), limits)
        .into_iter()
        .map(|it| format!("{}-{} {}", it.first + 1, it.end, it.title))
        .collect();
    assert_eq!(found, expected, "{text}");
}

const RUST: Language = Language::Braces(Quotes::Rust);

#[test]
fn a_function_comes_with_its_comment_and_attributes() {
    let text = "\
//! The module.

use a::b;
use c::d;

/// Adds.
#[must_use]
fn add(a: u32) -> u32 {
    a + 1
}
/// Another, without a blank line before.
fn sub() {}

const X: &str = \"{\";
";
    check(
        RUST,
        ROOM,
        text,
        &[
            "1-1 //! The module.",
            "3-4 use a::b;",
            "6-10 fn add(a: u32) -> u32",
            "11-12 fn sub() {}",
            "14-14 const X: &str = \"{\";",
        ],
    );
}

#[test]
fn what_is_too_large_falls_into_what_is_inside() {
    let text = "\
/// Doc.
impl Foo {
    /// First.
    fn a(&self) {
        if x { y } else {
            z
        }
    }

    fn b(&self) {
        b
    }
}
";
    check(
        RUST,
        TIGHT,
        text,
        &[
            "1-2 impl Foo",
            "3-8 impl Foo › fn a(&self)",
            "10-13 impl Foo › fn b(&self)",
        ],
    );
}

#[test]
fn brackets_in_text_do_not_count() {
    let text = "\
fn a<'a>() { let c = '{'; let d = '\\''; }
fn b() { r#\"{\"}\"#; \"\\\"{\"; }
/* { */ // {
fn c() {
    \"one {
    two\"
}

fn d() {}
";
    check(
        RUST,
        ROOM,
        text,
        &[
            "1-2 fn a<'a>() { let c = '{'; let d = '\\''; }",
            "3-7 fn c()",
            "9-9 fn d() {}",
        ],
    );
    let script = "const a = '{';\n\nfunction f() {\n  return `{\n`;\n}\n\nlet b = 1;\n";
    check(
        Language::Braces(Quotes::Script),
        ROOM,
        script,
        &["1-1 const a = '{';", "3-6 function f()", "8-8 let b = 1;"],
    );
}

#[test]
fn an_else_belongs_to_its_if_and_short_statements_stay_together() {
    let text = "if (a) {\n  b\n} else {\n  c\n}\nd\n";
    check(Language::Braces(Quotes::C), ROOM, text, &["1-6 if (a)"]);
}

#[test]
fn python_by_indentation() {
    let text = "\
import os

@decorated
def first(
    a,
):
    \"\"\"Says

no more.
\"\"\"
    return a
# about the second
class Second:
    x = 1

    def method(self):
        pass

try:
    pass
except E:
    pass
";
    check(
        Language::Indent,
        ROOM,
        text,
        &[
            "1-1 import os",
            "3-11 def first(",
            "12-17 class Second:",
            "19-22 try:",
        ],
    );
}

#[test]
fn sections_with_their_headings() {
    let text = "\
Intro.

# One

Text.

## Inner

```
# no heading
```

Two
===

More.
";
    check(
        Language::Prose,
        ROOM,
        text,
        &["1-1 Intro.", "3-11 One", "13-16 Two"],
    );
    check(
        Language::Prose,
        TIGHT,
        text,
        &["1-1 Intro.", "3-5 One", "7-11 One › Inner", "13-16 Two"],
    );
}

#[test]
fn tables_by_name() {
    let text = "a = 1\n\n[x]\nb = 2\n\nc = 3\n\n# about y\n[y]\nd = 4\n";
    check(
        Language::Tables,
        ROOM,
        text,
        &["1-1 a = 1", "3-6 [x]", "8-10 [y]"],
    );
}

#[test]
fn what_has_no_structure_is_cut_at_blank_lines() {
    let text = "a\nb\nc\n\nd\ne\nf\ng\n";
    check(
        Language::Prose,
        TIGHT,
        &format!("# T\n{text}"),
        &["1-5 T", "6-9 T"],
    );
    let long = "x\n".repeat(14);
    check(
        Language::Other,
        TIGHT,
        &long,
        &["1-6 x", "7-12 x", "13-14 x"],
    );
}

#[test]
fn paragraphs_that_are_short_stay_together() {
    check(Language::Other, ROOM, "a\n\nb\n\nc\n", &["1-5 a"]);
    check(Language::Other, ROOM, "", &[]);
}

proptest! {
    #[test]
    fn pieces_are_in_order_and_lose_no_text(
        text in "([ \t]{0,4}[a#/*'\"{}()\\[\\]`=\\-:é]{0,8}\r?\n){0,30}",
        limit in 1_usize..12,
    ) {
        let lines = lines(&text);
        let limits = Limits { lines: limit, bytes: 60 };
        for language in [
            Language::Prose, RUST, Language::Braces(Quotes::Script), Language::Braces(Quotes::C),
            Language::Indent, Language::Tables, Language::Other,
        ] {
            let mut next = 0;
            for piece in pieces(language, &lines, limits) {
                prop_assert!(next <= piece.first && piece.first < piece.end, "{language:?} {piece:?}");
                prop_assert!(lines[next..piece.first].iter().all(|it| it.trim().is_empty()));
                prop_assert!(piece.end - piece.first <= limit);
                next = piece.end;
            }
            prop_assert!(lines[next..].iter().all(|it| it.trim().is_empty()), "{language:?}");
        }
    }
}
