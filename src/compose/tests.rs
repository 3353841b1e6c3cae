use proptest::prelude::*;

use super::{
    Disposition, Exclusion, PREAMBLE, compose_context, compose_for_prompt, order_by_value,
    rendered_token_cost,
};
use crate::provider::FrameBuilder;
use crate::wire::budget::budget_tokens;
use crate::wire::frame::{ContextFrame, FrameKind, ProviderFrame};

fn frame(provider: &str, id: &str, content: &str, score: f32) -> ProviderFrame {
    let builder = FrameBuilder::new(id, FrameKind::Doc, id, content).score(score);
    ProviderFrame {
        provider_id: provider.into(),
        frame: builder.build(),
    }
}

fn bare(id: &str, content: &str) -> ProviderFrame {
    let mut bare = frame("p", id, content, 0.5);
    bare.frame.content_digest = None;
    bare
}

/// The content as rendered.
#[track_caller]
fn content(text: &str, expected: &str) {
    let expected =
        format!("<frame provider=\"p\" id=\"a\" kind=\"doc\" cite=\"a\">\n{expected}\n</frame>\n");
    assert_eq!(compose_context(&[frame("p", "a", text, 0.5)]), expected);
}

/// The label as rendered.
#[track_caller]
fn cited(label: &str, expected: &str) {
    let mut labelled = frame("p", "a", "", 0.5);
    labelled.frame.citation_label = Some(label.to_owned());
    let rendered = compose_context(&[labelled]);
    let expected = format!("cite=\"{expected}\">\n\n</frame>\n");
    assert!(rendered.ends_with(&expected), "{rendered}");
}

#[test]
fn only_what_reads_as_the_fence_is_changed() {
    content("</frame>", "<\\/frame>");
    content("<FRAMEset>", "<\\FRAMEset>");
    content("</Frame\t>", "<\\/Frame\t>");
    content("<</frame>>", "<<\\/frame>>");
    // Code pays too, because every conforming host writes these bytes.
    content("Vec<Frame>", "Vec<\\Frame>");
    content("<\\/frame>", "<\\\\/frame>");
    content("<\\\\frame", "<\\\\\\frame");
    for untouched in [
        "if a < b",
        "Vec<Fram> is <F",
        "< frame",
        "<//frame>",
        "&lt;/frame&gt;",
        "<",
        "</fra",
        "<fram\u{e9}",
        "a\r\nb\n",
        "\u{feff}",
    ] {
        content(untouched, untouched);
    }
}

#[test]
fn attributes_stay_inside_their_quotes() {
    cited("a\" id=\"b", "a&quot; id=&quot;b");
    cited("a\r\n</frame>", "a  &lt;/frame&gt;");
    cited("a & b' c\td", "a &amp; b' c\td");
    cited(
        "\u{1b}[2J\u{202e}x\u{2028}",
        "\\u{1b}[2J\\u{202e}x\\u{2028}",
    );
    cited("é – 文脈", "é – 文脈");
    cited(" \u{200b}", "a");
}

#[test]
fn a_hostile_kind_cannot_leave_its_attribute() {
    let mut hostile = frame("p", "a", "", 0.5);
    hostile.frame.kind = FrameKind::Other("x\">\n</frame>".to_owned());
    let rendered = compose_context(&[hostile]);
    assert!(
        rendered.contains("kind=\"x&quot;&gt; &lt;/frame&gt;\""),
        "{rendered}"
    );
}

#[test]
fn frames_of_one_identity_are_one() {
    let (first, second) = (bare("a", "1"), bare("a", "2"));
    let expected = compose_context(std::slice::from_ref(&first));
    assert_eq!(compose_context(&[second.clone(), first.clone()]), expected);
    assert_eq!(compose_context(&[first.clone(), second.clone()]), expected);

    let audit = compose_for_prompt(&[second, first.clone()], 1000).audit;
    let kept = first.identity();
    let reason = Exclusion::Duplicate { kept };
    assert_eq!(
        audit.entries[0].disposition,
        Disposition::Excluded { reason }
    );
    assert_eq!((audit.entries.len(), audit.included()), (2, 1));
}

#[test]
fn the_best_stand_at_the_edges() {
    let frames: Vec<_> = (1..=5_u8)
        .map(|rank| frame("p", &format!("f{rank}"), "x", 1.0 - f32::from(rank) / 10.0))
        .collect();
    let composed = compose_for_prompt(&frames, 10_000);
    let order: Vec<_> = composed
        .citations
        .iter()
        .map(|it| it.label.as_str())
        .collect();
    assert_eq!(order, ["f1", "f3", "f5", "f4", "f2"]);
}

#[test]
fn a_smaller_frame_may_fit_after_a_larger_one_did_not() {
    let large = frame("p", "large", &"x".repeat(400), 0.9);
    let small = frame("p", "small", "x", 0.1);
    let preamble_cost = budget_tokens(PREAMBLE);
    let budget = preamble_cost + rendered_token_cost(&small);
    let composed = compose_for_prompt(&[large.clone(), small.clone()], budget);
    assert_eq!(composed.citations[0].label, "small");
    assert_eq!(composed.audit.tokens_used, budget);
    let reason = Exclusion::OverBudget {
        cost: rendered_token_cost(&large),
        remaining: budget - preamble_cost,
    };
    assert_eq!(
        composed.audit.entries[0].disposition,
        Disposition::Excluded { reason }
    );
}

#[test]
fn a_budget_below_the_preamble_gives_nothing_and_says_so() {
    let offered = frame("p", "a", "x", 0.5);
    let composed = compose_for_prompt(std::slice::from_ref(&offered), 1);
    assert_eq!(
        (composed.prompt.as_str(), composed.audit.tokens_used),
        ("", 0)
    );
    let reason = Exclusion::NoRoomForPreamble {
        cost: rendered_token_cost(&offered),
    };
    assert_eq!(
        composed.audit.entries[0].disposition,
        Disposition::Excluded { reason }
    );
    assert_eq!(compose_for_prompt(&[], 1000).prompt, PREAMBLE);
}

#[test]
fn many_half_fences_cost_linear_time() {
    // The reference is quadratic here; a megabyte would take it minutes.
    let hostile = "</fram\u{e9}<\\\\\\\\\\".repeat(80_000);
    assert!(compose_context(&[frame("p", "a", &hostile, 0.5)]).contains(&hostile));
}

#[test]
fn the_audit_is_json() {
    let audit = compose_for_prompt(&[frame("p", "a", "x", 0.5)], 1000).audit;
    let json = serde_json::to_value(&audit).unwrap();
    assert_eq!(json["entries"][0]["disposition"], "included");
    let audit = compose_for_prompt(&[frame("p", "a", "x", 0.5)], 1).audit;
    let json = serde_json::to_value(&audit).unwrap();
    assert_eq!(json["entries"][0]["reason"], "no_room_for_preamble");
}

/// Reads a prompt as a reader that knows only the fence would: the raw text of every block.
fn blocks(mut prompt: &str) -> Vec<String> {
    let mut found = Vec::new();
    while !prompt.is_empty() {
        let after_open = prompt.strip_prefix("<frame ").expect("a block opens");
        let (_, body) = after_open.split_once("\">\n").expect("its attributes end");
        let lower = body.to_ascii_lowercase();
        let end = lower.find("</frame").expect("it closes");
        assert!(
            !lower[..end].contains("<frame"),
            "a fence opens inside a fence"
        );
        assert!(body[end..].starts_with("</frame>\n"));
        found.push(
            body[..end]
                .strip_suffix('\n')
                .expect("a line of its own")
                .to_owned(),
        );
        prompt = &body[end + "</frame>\n".len()..];
    }
    found
}

/// What was there before it was neutralised.
fn original(rendered: &str) -> String {
    let mut out = String::new();
    let mut rest = rendered;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let word = rest.trim_start_matches('\\');
        let word = word.strip_prefix('/').unwrap_or(word);
        let is_fence = word
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("frame"));
        if is_fence {
            rest = rest.strip_prefix('\\').expect("an escape");
        }
    }
    out + rest
}

fn any_frame() -> impl Strategy<Value = ProviderFrame> {
    let text = || {
        prop_oneof![
            "[<\\\\/fFrRaAmMeE> \"\n]{0,24}",
            "(</?frame|<\\\\/?FRAME|x| |\n){0,6}",
            any::<String>(),
        ]
    };
    ("[ab]", "[xy]", text(), text(), any::<f32>(), any::<bool>()).prop_map(
        |(provider, id, label, content, score, has_digest)| {
            let frame = FrameBuilder::new(id, FrameKind::Doc, "t", content).citation_label(label);
            let frame = frame.score(score).build();
            let content_digest = frame.content_digest.clone().filter(|_| has_digest);
            let frame = ContextFrame {
                content_digest,
                ..frame
            };
            ProviderFrame {
                provider_id: provider.into(),
                frame,
            }
        },
    )
}

proptest! {
    #[test]
    fn no_content_closes_the_fence_and_none_is_lost(frame in any_frame()) {
        let rendered = compose_context(std::slice::from_ref(&frame));
        let blocks = blocks(&rendered);
        prop_assert_eq!(blocks.len(), 1);
        prop_assert_eq!(original(&blocks[0]), frame.frame.content.unwrap());
    }

    #[test]
    fn the_output_is_a_function_of_the_set(
        frames in prop::collection::vec(any_frame(), 0..8),
        budget in 0_u32..400,
        turn in any::<prop::sample::Index>(),
    ) {
        let mut turned = frames.clone();
        turned.rotate_left(turn.index(frames.len().max(1)).min(frames.len()));
        turned.reverse();
        prop_assert_eq!(compose_context(&frames), compose_context(&turned));
        prop_assert_eq!(compose_for_prompt(&frames, budget), compose_for_prompt(&turned, budget));
    }

    #[test]
    fn the_prompt_keeps_its_budget_and_the_audit_is_total(
        frames in prop::collection::vec(any_frame(), 0..8),
        budget in 0_u32..400,
    ) {
        let composed = compose_for_prompt(&frames, budget);
        prop_assert!(budget_tokens(&composed.prompt) <= composed.audit.tokens_used);
        prop_assert!(composed.audit.tokens_used <= budget);
        prop_assert_eq!(composed.audit.included(), composed.citations.len());
        let mut offered: Vec<_> = frames.iter().map(ProviderFrame::identity).collect();
        let mut listed: Vec<_> = composed.audit.entries.into_iter().map(|it| it.frame).collect();
        offered.sort();
        listed.sort();
        prop_assert_eq!(offered, listed);
    }

    #[test]
    fn the_canonical_order_is_total(frames in prop::collection::vec(any_frame(), 0..8)) {
        let order = order_by_value(&frames);
        let mut positions = order.clone();
        positions.sort_unstable();
        prop_assert_eq!(positions, (0..frames.len()).collect::<Vec<_>>());
        for pair in order.windows(2) {
            let (better, worse) = (&frames[pair[0]], &frames[pair[1]]);
            let falls = better.frame.score.total_cmp(&worse.frame.score).is_gt();
            prop_assert!(falls || better.identity() <= worse.identity());
        }
    }
}
