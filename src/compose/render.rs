//! One frame as a fenced block (R3): byte for byte what every conforming host writes.
//!
//! The exceptions, each stated in SPEC.md: the kind is escaped like the other attributes; control
//! characters and bidirectional overrides in attributes are made visible; and a backslash that
//! already stands after a `<` before `frame` is escaped too, so that no two contents look alike.

use std::fmt::Write as _;

use crate::wire::budget::budget_tokens;
use crate::wire::frame::{ContextFrame, ProviderFrame};
use crate::wire::text::is_blank;

/// What a frame costs in a prompt: the budget tokens of its whole block, fence and label included.
#[must_use]
pub fn rendered_token_cost(frame: &ProviderFrame) -> u32 {
    budget_tokens(&block(frame))
}

/// How a frame is cited: its label, or its title where the label is blank.
#[must_use]
pub fn label(frame: &ContextFrame) -> &str {
    let label = frame.citation_label.as_deref();
    label.filter(|it| !is_blank(it)).unwrap_or(&frame.title)
}

pub(super) fn block(frame: &ProviderFrame) -> String {
    let ContextFrame {
        id, kind, content, ..
    } = &frame.frame;
    let content = content.as_deref().unwrap_or_default();
    let mut out = String::with_capacity(content.len() + 128);
    for (before, value) in [
        ("<frame provider=\"", frame.provider_id.as_str()),
        ("\" id=\"", id),
        ("\" kind=\"", kind.as_str()),
        ("\" cite=\"", label(&frame.frame)),
    ] {
        out.push_str(before);
        attribute(&mut out, value);
    }
    out.push_str("\">\n");
    neutralise(&mut out, content);
    out.push_str("\n</frame>\n");
    out
}

/// Writes a value so that it stays between its quotes and shows what it holds.
fn attribute(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' | '\r' => out.push(' '),
            '\t' => out.push(c),
            _ if c.is_control() || reorders(c) => {
                // Writing to a string cannot fail.
                write!(out, "\\u{{{:x}}}", u32::from(c)).ok();
            }
            _ => out.push(c),
        }
    }
}

/// Characters that reorder or break the line they stand in.
fn reorders(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes content so that nothing in it reads as the fence: `<`, any number of `\`, then `frame`
/// or `/frame` in any case, gains one `\` after the `<`.
fn neutralise(out: &mut String, content: &str) {
    let mut rest = content;
    while let Some(at) = rest.find('<') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        if opens_fence(after.as_bytes()) {
            out.push('\\');
        }
        rest = after;
    }
    out.push_str(rest);
}

/// Linear over the whole content: the backslashes after one `<` are read for that one only.
fn opens_fence(after: &[u8]) -> bool {
    let n_escapes = after.iter().take_while(|it| **it == b'\\').count();
    let word = &after[n_escapes..];
    let word = word.strip_prefix(b"/").unwrap_or(word);
    word.get(..5)
        .is_some_and(|it| it.eq_ignore_ascii_case(b"frame"))
}
