//! One frame: what is read as absent, what is taken out, and whether it stands at all.

use crate::host::Mode;
use crate::host::audit::{Effect, Finding};
use crate::wire::budget::budget_tokens;
use crate::wire::frame::{ContextFrame, Representation};
use crate::wire::identity::Digest;
use crate::wire::rules::{NO_DIGEST, Rule, Violation, check_frame};
use crate::wire::text::is_blank;
use crate::wire::time::Timestamp;

/// What became of one frame.
pub(super) struct Verdict {
    /// None if it is excluded.
    pub(super) frame: Option<ContextFrame>,
    pub(super) findings: Vec<Finding>,
}

/// Puts right or takes out what can be, and excludes the frame if that is not enough.
pub(super) fn repair(mut frame: ContextFrame, violations: Vec<Violation>, mode: Mode) -> Verdict {
    if violations.is_empty() {
        return Verdict {
            frame: Some(frame),
            findings: Vec::new(),
        };
    }
    let index = violations[0].frame;
    let frame_id = Some(frame.id.clone()).filter(|id| !id.is_empty());
    clean(&mut frame);
    if mode == Mode::Lenient {
        correct(&mut frame);
    }
    // A digest that was read as absent may be one the representation needs.
    let consequences = check_frame(&frame)
        .into_iter()
        .filter(|it| matches!(it.rule, Rule::P2 | Rule::P3))
        .map(|it| Violation { frame: index, ..it })
        .filter(|it| !violations.contains(it))
        .collect::<Vec<_>>();
    let all = violations.into_iter().chain(consequences);
    let findings: Vec<_> = all
        .map(|violation| Finding {
            effect: effect_of(&violation, mode),
            frame_id: frame_id.clone(),
            violation,
        })
        .collect();
    let is_excluded = findings.iter().any(|it| it.effect == Effect::Excluded);
    Verdict {
        frame: (!is_excluded).then_some(frame),
        findings,
    }
}

/// What a violation costs. [`clean`] and [`correct`] do what is promised here.
fn effect_of(violation: &Violation, mode: Mode) -> Effect {
    let is_lenient = mode == Mode::Lenient;
    match violation.rule {
        Rule::F4 | Rule::D1 => Effect::ReadAsAbsent,
        Rule::F5 if violation.message == NO_DIGEST => Effect::Kept,
        Rule::F5 => Effect::ReadAsAbsent,
        Rule::G1 | Rule::G2 => Effect::Removed,
        Rule::ClosedWord if violation.member == "representation" => Effect::Excluded,
        Rule::ClosedWord => Effect::ReadAsAbsent,
        // Without content there is nothing to keep; what a `full` frame should not carry harms
        // nobody.
        Rule::P1 if violation.member == "content" => Effect::Excluded,
        Rule::P1 | Rule::OneContent | Rule::D4 => Effect::Kept,
        Rule::F1 | Rule::B3 if is_lenient => Effect::Corrected,
        Rule::F2 | Rule::F3 | Rule::P2 | Rule::P3 if is_lenient => Effect::Kept,
        Rule::F1
        | Rule::F2
        | Rule::F3
        | Rule::P2
        | Rule::P3
        | Rule::B3
        | Rule::Q1
        | Rule::AsOf
        | Rule::FrameIdentity => Effect::Excluded,
        // Rules of a whole answer or of a declaration do not reach a frame.
        Rule::B1 | Rule::B4 | Rule::C5 | Rule::H2 | Rule::Resolve | Rule::Decode => Effect::Kept,
    }
}

/// Reads malformed optional members as absent and takes out edges without label or target.
fn clean(frame: &mut ContextFrame) {
    let no_time = |text: &mut String| Timestamp::parse(text).is_err();
    let no_digest = |text: &mut String| Digest::parse(text).is_err();
    frame.valid_from.take_if(no_time);
    frame.valid_to.take_if(no_time);
    frame.recorded_at.take_if(no_time);
    if let Some(content_ref) = &mut frame.content_ref {
        content_ref.expires_at.take_if(no_time);
    }
    frame.content_digest.take_if(no_digest);
    frame.canonical_content_hash.take_if(no_digest);
    for link in &mut frame.provenance {
        link.digest.take_if(no_digest);
    }
    frame.content_fidelity.take_if(|it| !it.is_known());
    frame.minimum_content_fidelity.take_if(|it| !it.is_known());
    frame
        .inline_content_requirement
        .take_if(|it| !it.is_known());
    frame.relations.retain(|edge| {
        let has_name = edge.display_name.as_deref().is_some_and(|it| !is_blank(it));
        has_name && !is_blank(&edge.target_uri)
    });
}

/// The corrections of lenient mode.
fn correct(frame: &mut ContextFrame) {
    frame.token_cost = frame.content.as_deref().map_or(0, budget_tokens);
    frame.score = match frame.score {
        score if score.is_nan() => 0.0,
        score => score.clamp(0.0, 1.0),
    };
    if frame.representation == Representation::Full {
        frame.content_ref = None;
    }
}
