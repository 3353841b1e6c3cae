//! Rules about an answer as a whole, against what was asked: B1, B4, Q1, the window.

use std::collections::HashMap;

use crate::wire::frame::ContextFrame;
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::rules::{Rule, Violation, check_frame};
use crate::wire::time::Timestamp;

/// Judges an answer against its query: each frame on its own, then kinds (Q1), the validity
/// window, one content per identity, and the two limits (B1, B4). Returns every violation.
#[must_use]
pub fn check_reply(query: &ContextQuery, result: &ContextQueryResult) -> Vec<Violation> {
    let as_of = query.as_of.as_deref().map(Timestamp::parse);
    let as_of = as_of.and_then(Result::ok);
    let mut found = Vec::new();
    let mut seen: HashMap<(&str, Option<&str>), usize> = HashMap::new();
    for (index, frame) in result.frames.iter().enumerate() {
        found.extend(check_frame(frame).into_iter().map(|it| it.in_frame(index)));
        if !query.wants(&frame.kind) {
            let message = format!("`{}` was not asked for", frame.kind);
            found.push(Violation::new(Rule::Q1, "kind", message).in_frame(index));
        }
        if let Some(instant) = &as_of
            && !holds_at(frame, instant)
        {
            let message = format!("its validity window does not hold {instant}");
            found.push(Violation::new(Rule::AsOf, "valid_from", message).in_frame(index));
        }
        let identity = (frame.id.as_str(), frame.content_digest.as_deref());
        let first = *seen.entry(identity).or_insert(index);
        if first != index && result.frames[first] != *frame {
            let message = format!("frames[{first}] has the same identity and differs");
            found.push(Violation::new(Rule::OneContent, "id", message).in_frame(index));
        }
    }
    limits(query, result, &mut found);
    found
}

/// Whether the window [`valid_from`, `valid_to`) holds an instant. A bound that is absent or
/// malformed does not limit.
#[must_use]
pub fn holds_at(frame: &ContextFrame, instant: &Timestamp) -> bool {
    let bound = |text: &Option<String>| Timestamp::parse(text.as_deref()?).ok();
    let has_begun = bound(&frame.valid_from).is_none_or(|from| from <= *instant);
    let has_ended = bound(&frame.valid_to).is_some_and(|to| to <= *instant);
    has_begun && !has_ended
}

/// B1 and B4. The sum is made in 64 bits: a few frames can overflow 32.
fn limits(query: &ContextQuery, result: &ContextQueryResult, found: &mut Vec<Violation>) {
    let claimed: u64 = result
        .frames
        .iter()
        .map(|it| u64::from(it.token_cost))
        .sum();
    if claimed > u64::from(query.max_tokens) {
        let message = format!(
            "declared costs sum to {claimed}, the limit is {}",
            query.max_tokens
        );
        found.push(Violation::new(Rule::B1, "", message));
    }
    let n_frames = result.frames.len();
    if n_frames as u64 > u64::from(query.max_frames) {
        let message = format!("{n_frames} frames, the limit is {}", query.max_frames);
        found.push(Violation::new(Rule::B4, "", message));
    }
}

#[cfg(test)]
mod tests {
    use super::{check_reply, holds_at};
    use crate::wire::frame::{ContextFrame, FrameKind};
    use crate::wire::query::{ContextQuery, ContextQueryResult};
    use crate::wire::time::Timestamp;

    fn frame(id: &str) -> ContextFrame {
        ContextFrame {
            id: id.to_owned(),
            kind: FrameKind::Doc,
            title: "t".to_owned(),
            content: Some("abcd".to_owned()),
            score: 0.5,
            token_cost: 1,
            citation_label: Some("a".to_owned()),
            ..ContextFrame::default()
        }
    }

    #[track_caller]
    fn check(query: &ContextQuery, frames: Vec<ContextFrame>, expected: &[&str]) {
        let found = check_reply(query, &ContextQueryResult::from(frames));
        let found: Vec<_> = found
            .iter()
            .map(|it| match it.frame {
                Some(index) => format!("{index} {}", it.rule),
                None => it.rule.to_string(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn limits_hold_for_the_whole_answer() {
        let query = ContextQuery::new("g", 2, 2);
        check(&query, vec![frame("a"), frame("b")], &[]);
        check(
            &query,
            vec![frame("a"), frame("b"), frame("c")],
            &["B1", "B4"],
        );
        let huge = |id| ContextFrame {
            token_cost: u32::MAX,
            ..frame(id)
        };
        check(&query, vec![huge("a"), huge("b")], &["0 B3", "1 B3", "B1"]);
    }

    #[test]
    fn only_kinds_that_were_asked_for() {
        let query = ContextQuery {
            kinds: vec![FrameKind::Fact],
            ..ContextQuery::new("g", 9, 9)
        };
        check(&query, vec![frame("a")], &["0 Q1"]);
    }

    #[test]
    fn an_identity_has_one_content() {
        let query = ContextQuery::new("g", 9, 9);
        let other = ContextFrame {
            title: "other".to_owned(),
            ..frame("a")
        };
        check(
            &query,
            vec![frame("a"), frame("a"), other],
            &["2 one-content"],
        );
    }

    #[test]
    fn the_window_is_half_open() {
        let window = |from: &str, to: &str| ContextFrame {
            valid_from: (!from.is_empty()).then(|| from.to_owned()),
            valid_to: (!to.is_empty()).then(|| to.to_owned()),
            ..frame("a")
        };
        let at = Timestamp::parse("2026-07-01T00:00:00.5Z").unwrap();
        for (from, to, expected) in [
            ("", "", true),
            ("2026-07-01T00:00:00.5Z", "", true),
            ("2026-07-01T00:00:00.50001Z", "", false),
            ("", "2026-07-01T00:00:00.5Z", false),
            ("", "2026-07-01T00:00:00.51Z", true),
            ("garbage", "garbage", true),
        ] {
            assert_eq!(holds_at(&window(from, to), &at), expected, "{from} {to}");
        }
        let query = ContextQuery {
            as_of: Some("2026-07-01T00:00:00.5Z".to_owned()),
            ..ContextQuery::new("g", 9, 9)
        };
        check(
            &query,
            vec![window("2026-07-02T00:00:00Z", "")],
            &["0 as-of"],
        );
    }
}
