use super::{Answer, audit};
use crate::codec::{Effect as NoteEffect, List, Note};
use crate::error::{Error, Result};
use crate::host::Mode;
use crate::provider::FrameBuilder;
use crate::wire::frame::{
    ContentRef, ContextFrame, FrameKind, Provenance, ProvenanceType, Relation, Representation,
};
use crate::wire::query::ContextQuery;

fn frame(id: &str) -> ContextFrame {
    FrameBuilder::new(id, FrameKind::Doc, "t", "abcd")
        .score(0.5)
        .build()
}

fn changed(id: &str, change: impl FnOnce(&mut ContextFrame)) -> ContextFrame {
    let mut frame = frame(id);
    change(&mut frame);
    frame
}

fn query() -> ContextQuery {
    ContextQuery {
        kinds: vec![FrameKind::Doc],
        as_of: Some("2026-07-01T00:00:00Z".to_owned()),
        ..ContextQuery::new("g", 4, 10)
    }
}

fn judge(frames: Vec<ContextFrame>, notes: &[Note], mode: Mode) -> Result<Answer> {
    audit(&"docs".into(), &query(), frames.into(), notes, mode)
}

/// The frame that a change leaves beside an honest neighbour, and what was found.
#[track_caller]
fn check(
    change: impl FnOnce(&mut ContextFrame),
    mode: Mode,
) -> (Option<ContextFrame>, Vec<String>) {
    let frames = vec![frame("good"), changed("odd", change)];
    let answer = judge(frames, &[], mode).unwrap();
    assert_eq!(
        answer.frames[0],
        frame("good"),
        "the neighbour is untouched"
    );
    let findings = answer.findings.iter().map(|it| {
        assert_eq!(it.violation.frame, Some(1));
        format!("{} {:?}", it.violation.rule, it.effect)
    });
    (answer.frames.get(1).cloned(), findings.collect())
}

#[test]
fn an_honest_answer_stands() {
    let answer = judge(vec![frame("a"), frame("b")], &[], Mode::Strict).unwrap();
    assert_eq!((answer.frames.len(), answer.findings.len()), (2, 0));
}

#[test]
fn lies_cost_the_whole_answer() {
    let over = changed("a", |it| {
        (it.content, it.token_cost) = (Some("x".repeat(44)), 11)
    });
    let error = judge(vec![over], &[], Mode::Strict).unwrap_err();
    assert!(matches!(
        error,
        Error::BudgetLie {
            claimed_tokens: 11,
            max_tokens: 10,
            dropped_frames: 1,
            ..
        }
    ));
    let many = (0..5).map(|it| frame(&it.to_string())).collect();
    let error = judge(many, &[], Mode::Strict).unwrap_err();
    assert!(matches!(
        error,
        Error::FrameFlood {
            returned_frames: 5,
            max_frames: 4,
            ..
        }
    ));
    for cost in [0, 2] {
        let wrong = changed("b", |it| it.token_cost = cost);
        let error = judge(vec![frame("a"), wrong], &[], Mode::Strict).unwrap_err();
        assert!(
            matches!(&error, Error::CostLie { violations, dropped_frames: 2, .. } if violations[0].frame == Some(1))
        );
    }
}

#[test]
fn limits_are_judged_before_exclusions() {
    let lost = Note {
        member: "result.frames[0].score".to_owned(),
        reason: "missing".to_owned(),
        effect: NoteEffect::Excluded(List::Frames),
    };
    let untitled = changed("b", |it| it.title.clear());
    let frames = vec![frame("a"), untitled, frame("c"), frame("d")];
    let error = judge(frames.clone(), std::slice::from_ref(&lost), Mode::Strict).unwrap_err();
    assert!(matches!(
        error,
        Error::FrameFlood {
            returned_frames: 5,
            ..
        }
    ));
    let answer = judge(frames[..3].to_vec(), &[lost], Mode::Strict).unwrap();
    assert_eq!(answer.frames.len(), 2);
    assert_eq!(
        answer.findings[0].to_string(),
        "decode: result.frames[0].score: missing; frame excluded"
    );
}

#[test]
fn sums_do_not_wrap() {
    let huge = |id: &str| changed(id, |it| it.token_cost = u32::MAX);
    let error = judge(vec![huge("a"), huge("b")], &[], Mode::Strict).unwrap_err();
    assert!(matches!(
        error,
        Error::BudgetLie {
            claimed_tokens: 8_589_934_590,
            ..
        }
    ));
}

#[test]
fn a_wrong_frame_goes_alone() {
    let excluded = |change: fn(&mut ContextFrame), rule: &str| {
        let (left, findings) = check(change, Mode::Strict);
        assert_eq!(left, None);
        assert_eq!(findings, [format!("{rule} Excluded")]);
    };
    excluded(|it| it.score = 1.5, "F1");
    excluded(|it| it.score = f32::NAN, "F1");
    excluded(|it| it.title.clear(), "F2");
    excluded(|it| it.citation_label = None, "F3");
    excluded(|it| it.kind = FrameKind::Fact, "Q1");
    excluded(|it| it.id.clear(), "frame-id");
    excluded(
        |it| it.valid_from = Some("2026-07-01T00:00:00.1Z".to_owned()),
        "as-of",
    );
    excluded(
        |it| it.valid_to = Some("2026-07-01T00:00:00Z".to_owned()),
        "as-of",
    );
    excluded(|it| it.representation = "tiny".into(), "closed-word");
    let (left, findings) = check(
        |it| it.representation = Representation::Compact,
        Mode::Strict,
    );
    assert_eq!((left, findings.len()), (None, 3));
    let (left, findings) = check(
        |it| it.representation = Representation::Reference,
        Mode::Strict,
    );
    assert_eq!((left, findings.len()), (None, 4));
}

#[test]
fn a_frame_without_content_goes() {
    let change = |it: &mut ContextFrame| {
        (it.content, it.content_digest, it.token_cost) = (None, None, 0);
    };
    for mode in [Mode::Strict, Mode::Lenient] {
        let (left, findings) = check(change, mode);
        assert_eq!((left, findings), (None, vec!["P1 Excluded".to_owned()]));
    }
}

#[test]
fn malformed_members_are_read_as_absent() {
    let (left, findings) = check(
        |it| {
            it.content_digest = Some("sha256:AB".to_owned());
            it.valid_from = Some("tomorrow".to_owned());
            it.valid_to = Some("2026".to_owned());
            it.recorded_at = Some(String::new());
            it.content_fidelity = Some("vague".into());
        },
        Mode::Strict,
    );
    let left = left.expect("the frame stays");
    let absent = [
        left.content_digest,
        left.valid_from,
        left.valid_to,
        left.recorded_at,
    ];
    assert_eq!((absent, left.content_fidelity), ([const { None }; 4], None));
    assert_eq!(
        findings,
        [
            "F4 ReadAsAbsent",
            "F4 ReadAsAbsent",
            "F4 ReadAsAbsent",
            "D1 ReadAsAbsent",
            "closed-word ReadAsAbsent",
        ]
    );
}

#[test]
fn edges_and_links() {
    let link = |digest: Option<&str>| Provenance {
        kind: ProvenanceType::File,
        uri: Some("file:///a".to_owned()),
        range: None,
        digest: digest.map(str::to_owned),
        method: None,
        by: None,
    };
    let edge = |target: &str, name: Option<&str>| Relation {
        rel: "owned_by".into(),
        target_uri: target.to_owned(),
        display_name: name.map(str::to_owned),
    };
    let (left, findings) = check(
        |it| {
            it.provenance = vec![link(None), link(Some("short"))];
            it.relations = vec![edge("u", Some("x")), edge("u", None), edge("", Some("x"))];
        },
        Mode::Strict,
    );
    let left = left.expect("the frame stays");
    assert_eq!(left.provenance, [link(None), link(None)]);
    assert_eq!(left.relations, [edge("u", Some("x"))]);
    assert_eq!(super::unverifiable_links(&[left]), 2);
    assert_eq!(
        findings,
        ["F5 Kept", "F5 ReadAsAbsent", "G1 Removed", "G2 Removed"]
    );
}

#[test]
fn what_harms_nobody_is_tolerated() {
    let (left, findings) = check(
        |it| {
            it.content_ref = Some(ContentRef {
                provider_id: "p".to_owned(),
                uri: "x".to_owned(),
                expires_at: None,
            });
            it.content_digest = Some(crate::digest::sha256(b"other").into());
        },
        Mode::Strict,
    );
    assert!(left.is_some());
    assert_eq!(findings, ["P1 Kept", "D4 Kept"]);
    let twins = vec![frame("a"), changed("a", |it| it.title = "u".to_owned())];
    let answer = judge(twins, &[], Mode::Strict).unwrap();
    assert_eq!((answer.frames.len(), answer.findings.len()), (2, 1));
}

#[test]
fn a_digest_that_a_representation_needs_cannot_be_absent() {
    let compact = |it: &mut ContextFrame| {
        let transform = crate::wire::frame::Transform {
            method: "m".to_owned(),
            implementation: "i".to_owned(),
            version: "1".to_owned(),
        };
        let handle = ContentRef {
            provider_id: "p".to_owned(),
            uri: "x".to_owned(),
            expires_at: None,
        };
        *it = FrameBuilder::new("odd", FrameKind::Doc, "t", "abcd")
            .compact("abcdefgh", transform, handle)
            .build();
    };
    assert!(check(compact, Mode::Strict).0.is_some());
    let broken = |it: &mut ContextFrame| {
        compact(it);
        it.canonical_content_hash = Some("sha1:0".to_owned());
    };
    let (left, findings) = check(broken, Mode::Strict);
    assert_eq!(left, None);
    assert_eq!(findings, ["D1 ReadAsAbsent", "P2 Excluded"]);
}

#[test]
fn lenient_mode_keeps_what_can_be_kept() {
    let (left, findings) = check(
        |it| {
            it.score = 7.0;
            it.token_cost = 99;
            it.title.clear();
            it.citation_label = None;
        },
        Mode::Lenient,
    );
    let left = left.expect("the frame stays");
    assert_eq!((left.score, left.token_cost), (1.0, 1));
    assert_eq!((left.title.as_str(), &left.citation_label), ("", &None));
    assert_eq!(
        findings,
        ["F1 Corrected", "F2 Kept", "F3 Kept", "B3 Corrected"]
    );
    let (left, findings) = check(|it| it.kind = FrameKind::Fact, Mode::Lenient);
    assert_eq!((left, findings), (None, vec!["Q1 Excluded".to_owned()]));
}

#[test]
fn lenient_mode_cuts_at_the_limits() {
    let text =
        |id: &str, n: usize| FrameBuilder::new(id, FrameKind::Doc, "t", "x".repeat(n)).build();
    let frames = vec![
        text("a", 36),
        text("b", 8),
        text("c", 4),
        text("d", 0),
        text("e", 0),
        text("f", 0),
    ];
    let answer = judge(frames, &[], Mode::Lenient).unwrap();
    let kept: Vec<_> = answer.frames.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(kept, ["a", "c", "d", "e"]);
    let findings: Vec<_> = answer.findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings,
        [
            "B1: frame `b`: token_cost: over the limit of 10 tokens; frame excluded",
            "B4: frame `f`: over the limit of frames; frame excluded",
        ]
    );
}
