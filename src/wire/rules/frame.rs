//! Rules about one frame: F1–F5, D1, P1–P3, B3, G1, G2.

use crate::wire::budget::{budget_tokens, method_behind};
use crate::wire::frame::{ContextFrame, Provenance, ProvenanceType, Relation, Representation};
use crate::wire::identity::Digest;
use crate::wire::rules::{Rule, Violation, closed_words};
use crate::wire::text::is_blank;
use crate::wire::time::Timestamp;

/// Judges one frame on its own and returns every violation.
///
/// ```
/// use contextgraph_sync::wire::{ContextFrame, rules::check_frame};
///
/// let frame = ContextFrame { score: 1.5, ..ContextFrame::default() };
/// assert!(check_frame(&frame).iter().any(|it| it.rule.as_str() == "F1"));
/// ```
#[must_use]
pub fn check_frame(frame: &ContextFrame) -> Vec<Violation> {
    let mut found = Vec::new();
    if frame.id.is_empty() {
        found.push(Violation::new(Rule::FrameIdentity, "id", "is empty"));
    }
    if !(0.0..=1.0).contains(&frame.score) {
        let message = format!("{} is not between 0 and 1", frame.score);
        found.push(Violation::new(Rule::F1, "score", message));
    }
    if is_blank(&frame.title) {
        found.push(Violation::new(Rule::F2, "title", "is blank"));
    }
    match frame.citation_label.as_deref() {
        None => found.push(Violation::new(Rule::F3, "citation_label", "is missing")),
        Some(label) if is_blank(label) => {
            found.push(Violation::new(Rule::F3, "citation_label", "is blank"));
        }
        Some(_) => {}
    }
    times(frame, &mut found);
    digests(frame, &mut found);
    representation(frame, &mut found);
    cost(frame, &mut found);
    words(frame, &mut found);
    for (index, link) in frame.provenance.iter().enumerate() {
        provenance(index, link, &mut found);
    }
    for (index, edge) in frame.relations.iter().enumerate() {
        relation(index, edge, &mut found);
    }
    found
}

/// F4.
fn times(frame: &ContextFrame, found: &mut Vec<Violation>) {
    let expires_at = frame.content_ref.as_ref().map(|it| &it.expires_at);
    for (member, text) in [
        ("valid_from", &frame.valid_from),
        ("valid_to", &frame.valid_to),
        ("recorded_at", &frame.recorded_at),
        ("content_ref.expires_at", expires_at.unwrap_or(&None)),
    ] {
        if let Some(Err(error)) = text.as_deref().map(Timestamp::parse) {
            found.push(Violation::new(Rule::F4, member, error.to_string()));
        }
    }
}

/// D1, and the same grammar for the digest of the complete text.
fn digests(frame: &ContextFrame, found: &mut Vec<Violation>) {
    for (member, text) in [
        ("content_digest", &frame.content_digest),
        ("canonical_content_hash", &frame.canonical_content_hash),
    ] {
        if let Some(Err(error)) = text.as_deref().map(Digest::parse) {
            found.push(Violation::new(Rule::D1, member, error.to_string()));
        }
    }
}

/// P1–P3: which members a representation needs and which it excludes.
fn representation(frame: &ContextFrame, found: &mut Vec<Violation>) {
    let members = [
        ("content", frame.content.is_some()),
        ("content_digest", frame.content_digest.is_some()),
        (
            "canonical_content_hash",
            frame.canonical_content_hash.is_some(),
        ),
        ("content_ref", frame.content_ref.is_some()),
        ("transform", frame.transform.is_some()),
    ];
    // One column per member above: must be there, must not, or either.
    let (rule, wanted) = match frame.representation {
        Representation::Full => (Rule::P1, [Must, May, MustNot, MustNot, MustNot]),
        Representation::Compact => (Rule::P2, [Must, Must, Must, Must, Must]),
        Representation::Reference => (Rule::P3, [MustNot, MustNot, Must, Must, MustNot]),
        Representation::Other(_) => return,
    };
    let name = &frame.representation;
    for ((member, is_there), wanted) in members.into_iter().zip(wanted) {
        match (wanted, is_there) {
            (Must, false) => {
                let message = format!("is missing on a `{name}` frame");
                found.push(Violation::new(rule, member, message));
            }
            (MustNot, true) => {
                let message = format!("does not belong on a `{name}` frame");
                found.push(Violation::new(rule, member, message));
            }
            _ => {}
        }
    }
}

use Presence::{May, Must, MustNot};

#[derive(Clone, Copy)]
enum Presence {
    Must,
    May,
    MustNot,
}

/// B3: exact, no tolerance.
fn cost(frame: &ContextFrame, found: &mut Vec<Violation>) {
    let content = frame.content.as_deref().unwrap_or_default();
    let cost = budget_tokens(content);
    if frame.token_cost == cost {
        return;
    }
    let declared = frame.token_cost;
    let mut message = format!(
        "declares {declared}, but {} bytes cost {cost}",
        content.len()
    );
    if let Some(method) = method_behind(declared, content) {
        message.push_str(&format!("; {declared} comes from {method}"));
    }
    found.push(Violation::new(Rule::B3, "token_cost", message));
}

fn words(frame: &ContextFrame, found: &mut Vec<Violation>) {
    closed_words!(found, "representation" => frame.representation);
    if let Some(fidelity) = &frame.content_fidelity {
        closed_words!(found, "content_fidelity" => fidelity);
    }
    if let Some(fidelity) = &frame.minimum_content_fidelity {
        closed_words!(found, "minimum_content_fidelity" => fidelity);
    }
    if let Some(requirement) = &frame.inline_content_requirement {
        closed_words!(found, "inline_content_requirement" => requirement);
    }
}

/// What F5 says of a link without any digest; a host treats that unlike a malformed one.
pub(crate) const NO_DIGEST: &str = "is missing on a `file` link; the source cannot be verified";

/// F5: a `file` link has a digest, and a digest is one.
fn provenance(index: usize, link: &Provenance, found: &mut Vec<Violation>) {
    let member = format!("provenance[{index}].digest");
    match link.digest.as_deref().map(Digest::parse) {
        None if link.kind == ProvenanceType::File => {
            found.push(Violation::new(Rule::F5, member, NO_DIGEST));
        }
        Some(Err(error)) => found.push(Violation::new(Rule::F5, member, error.to_string())),
        None | Some(Ok(_)) => {}
    }
}

/// G1 and G2.
fn relation(index: usize, edge: &Relation, found: &mut Vec<Violation>) {
    if edge.display_name.as_deref().is_none_or(is_blank) {
        let member = format!("relations[{index}].display_name");
        found.push(Violation::new(Rule::G1, member, "is missing or blank"));
    }
    if is_blank(&edge.target_uri) {
        let member = format!("relations[{index}].target_uri");
        found.push(Violation::new(Rule::G2, member, "is blank"));
    }
}

#[cfg(test)]
mod tests {
    use super::check_frame;
    use crate::digest::sha256;
    use crate::wire::frame::{
        ContentRef, ContextFrame, FrameKind, Provenance, ProvenanceType, Relation, Representation,
        Transform,
    };

    fn honest() -> ContextFrame {
        ContextFrame {
            id: "a".to_owned(),
            kind: FrameKind::Doc,
            title: "t".to_owned(),
            content: Some("héllo".to_owned()),
            score: 0.5,
            token_cost: 2,
            citation_label: Some("a".to_owned()),
            ..ContextFrame::default()
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut ContextFrame), expected: &[&str]) {
        let mut frame = honest();
        change(&mut frame);
        let found = check_frame(&frame);
        let found: Vec<String> = found
            .iter()
            .map(|it| format!("{} {}", it.rule, it.member))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_honest_frame_breaks_nothing() {
        check(|_| {}, &[]);
    }

    #[test]
    fn labels_and_score() {
        check(|it| it.score = -0.1, &["F1 score"]);
        check(|it| it.score = f32::NAN, &["F1 score"]);
        check(|it| it.score = f32::INFINITY, &["F1 score"]);
        check(|it| it.score = -0.0, &[]);
        check(|it| it.title = " \t".to_owned(), &["F2 title"]);
        check(|it| it.citation_label = None, &["F3 citation_label"]);
        check(
            |it| it.citation_label = Some("\u{200b}".to_owned()),
            &["F3 citation_label"],
        );
        check(|it| it.id.clear(), &["frame-id id"]);
    }

    #[test]
    fn times_and_digests() {
        check(
            |it| it.valid_from = Some("2026-01-31".to_owned()),
            &["F4 valid_from"],
        );
        check(|it| it.valid_to = Some(String::new()), &["F4 valid_to"]);
        check(
            |it| it.recorded_at = Some("now".to_owned()),
            &["F4 recorded_at"],
        );
        check(
            |it| it.content_digest = Some("sha256:AB".to_owned()),
            &["D1 content_digest"],
        );
        check(|it| it.content_digest = Some(sha256(b"").into()), &[]);
    }

    #[test]
    fn every_member_of_a_representation() {
        let handle = || ContentRef {
            provider_id: "p".to_owned(),
            uri: "x".to_owned(),
            expires_at: None,
        };
        let transform = || Transform {
            method: "m".to_owned(),
            implementation: "i".to_owned(),
            version: "1".to_owned(),
        };
        check(
            |it| (it.content, it.token_cost) = (None, 0),
            &["P1 content"],
        );
        check(|it| it.content_ref = Some(handle()), &["P1 content_ref"]);
        check(
            |it| it.representation = Representation::Compact,
            &[
                "P2 content_digest",
                "P2 canonical_content_hash",
                "P2 content_ref",
                "P2 transform",
            ],
        );
        check(
            |it| {
                it.representation = Representation::Reference;
                it.content = Some(String::new());
                it.token_cost = 0;
                it.content_digest = Some(sha256(b"").into());
                it.transform = Some(transform());
            },
            &[
                "P3 content",
                "P3 content_digest",
                "P3 canonical_content_hash",
                "P3 content_ref",
                "P3 transform",
            ],
        );
        check(
            |it| {
                it.representation = Representation::Compact;
                it.content_digest = Some(sha256(b"").into());
                it.canonical_content_hash = Some(sha256(b"").into());
                it.content_ref = Some(handle());
                it.transform = Some(transform());
            },
            &[],
        );
        check(
            |it| it.representation = "tiny".into(),
            &["closed-word representation"],
        );
    }

    #[test]
    fn a_wrong_cost_is_explained() {
        let frame = ContextFrame {
            content: Some("文脈文脈".to_owned()),
            token_cost: 1,
            ..honest()
        };
        let found = check_frame(&frame);
        assert_eq!(
            found[0].to_string(),
            "B3: token_cost: declares 1, but 12 bytes cost 3; 1 comes from the length in UTF-16 units"
        );
        check(|it| it.token_cost = 3, &["B3 token_cost"]);
        check(|it| it.token_cost = u32::MAX, &["B3 token_cost"]);
    }

    #[test]
    fn links_and_edges() {
        let link = |kind: ProvenanceType, digest: Option<&str>| Provenance {
            kind,
            uri: None,
            range: None,
            digest: digest.map(str::to_owned),
            method: None,
            by: None,
        };
        check(
            |it| {
                it.provenance = vec![
                    link(ProvenanceType::File, None),
                    link(ProvenanceType::File, Some("sha1:0")),
                    link(ProvenanceType::Derivation, None),
                    link("acme:x".into(), Some("short")),
                ];
            },
            &[
                "F5 provenance[0].digest",
                "F5 provenance[1].digest",
                "F5 provenance[3].digest",
            ],
        );
        let edge = |target: &str, name: Option<&str>| Relation {
            rel: "owned_by".into(),
            target_uri: target.to_owned(),
            display_name: name.map(str::to_owned),
        };
        check(
            |it| it.relations = vec![edge("urn:x", Some("x")), edge(" ", None)],
            &["G1 relations[1].display_name", "G2 relations[1].target_uri"],
        );
    }

    #[test]
    fn text_of_the_peer_is_shown_escaped() {
        let frame = ContextFrame {
            valid_from: Some("\x1b[2J".to_owned()),
            ..honest()
        };
        let message = &check_frame(&frame)[0].message;
        assert!(message.contains(r"\x1b[2J") && !message.contains('\x1b'));
    }
}
