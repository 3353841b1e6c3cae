//! Builds frames whose cost and digests are true.

use crate::digest::sha256;
use crate::wire::budget::budget_tokens;
use crate::wire::frame::{
    ContentRef, ContextFrame, FrameKind, Provenance, ProvenanceType, Rel, Relation, Representation,
    Transform,
};
use crate::wire::identity::Digest;
use crate::wire::time::Timestamp;

/// Builds one frame and computes what a rule fixes: `token_cost` (B3, P4), `content_digest` (D1).
///
/// ```
/// use contextgraph_sync::provider::FrameBuilder;
/// use contextgraph_sync::wire::{FrameKind, rules::check_frame};
///
/// let frame = FrameBuilder::new("a", FrameKind::Doc, "Greeting", "héllo").score(0.9).build();
/// assert_eq!(frame.token_cost, 2);
/// assert!(check_frame(&frame).is_empty());
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct FrameBuilder {
    frame: ContextFrame,
}

impl FrameBuilder {
    /// A `full` frame. It is cited by its title unless [`citation_label`](Self::citation_label)
    /// says otherwise, and its score is 0 until set.
    pub fn new(
        id: impl Into<String>,
        kind: FrameKind,
        title: impl Into<String>,
        content: impl Into<String>,
    ) -> Self {
        let title = title.into();
        Self {
            frame: ContextFrame {
                id: id.into(),
                kind,
                citation_label: Some(title.clone()),
                title,
                content: Some(content.into()),
                ..ContextFrame::default()
            },
        }
    }

    /// Turns it into a `compact` frame (P2): what was given as content is the short rendering of
    /// `source`, made by `transform`, and `handle` resolves to `source`.
    pub fn compact(mut self, source: &str, transform: Transform, handle: ContentRef) -> Self {
        self.frame.representation = Representation::Compact;
        self.frame.transform = Some(transform);
        self.refers_to(source, handle)
    }

    /// Turns it into a `reference` frame (P3): the content travels as a handle only, at no cost.
    pub fn reference(mut self, handle: ContentRef) -> Self {
        self.frame.representation = Representation::Reference;
        let source = self.frame.content.take().unwrap_or_default();
        self.refers_to(&source, handle)
    }

    fn refers_to(mut self, source: &str, handle: ContentRef) -> Self {
        self.frame.canonical_content_hash = Some(sha256(source.as_bytes()).into());
        self.frame.canonical_token_cost = Some(budget_tokens(source));
        self.frame.content_ref = Some(handle);
        self
    }

    /// Relevance, taken into 0 to 1 (F1); not a number counts as 0.
    pub fn score(mut self, score: f32) -> Self {
        self.frame.score = if score.is_nan() {
            0.0
        } else {
            score.clamp(0.0, 1.0)
        };
        self
    }

    /// How to cite it (F3).
    pub fn citation_label(mut self, label: impl Into<String>) -> Self {
        self.frame.citation_label = Some(label.into());
        self
    }

    /// The resource it comes from; what anchors are compared with.
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.frame.uri = Some(uri.into());
        self
    }

    /// Since when the content is true, inclusive.
    pub fn valid_from(mut self, instant: &Timestamp) -> Self {
        self.frame.valid_from = Some(instant.to_string());
        self
    }

    /// Until when the content is true, exclusive.
    pub fn valid_to(mut self, instant: &Timestamp) -> Self {
        self.frame.valid_to = Some(instant.to_string());
        self
    }

    /// When the provider learned it.
    pub fn recorded_at(mut self, instant: &Timestamp) -> Self {
        self.frame.recorded_at = Some(instant.to_string());
        self
    }

    /// Adds a link to a file (F5): `digest` is over exactly the bytes that `uri` and `range`
    /// address; no range means the whole file.
    pub fn source_file(
        self,
        uri: impl Into<String>,
        range: Option<String>,
        digest: Digest,
    ) -> Self {
        self.provenance(Provenance {
            kind: ProvenanceType::File,
            uri: Some(uri.into()),
            range,
            digest: Some(digest.into()),
            method: None,
            by: None,
        })
    }

    /// Adds a link to how the content was derived, and by whom.
    pub fn derived(self, method: impl Into<String>, by: impl Into<String>) -> Self {
        self.provenance(Provenance {
            kind: ProvenanceType::Derivation,
            uri: None,
            range: None,
            digest: None,
            method: Some(method.into()),
            by: Some(by.into()),
        })
    }

    /// Adds a link of provenance; the closest to the source comes first.
    pub fn provenance(mut self, link: Provenance) -> Self {
        self.frame.provenance.push(link);
        self
    }

    /// Adds an edge, with the name a person reads (G1, G2).
    pub fn relation(
        mut self,
        rel: Rel,
        target_uri: impl Into<String>,
        display_name: impl Into<String>,
    ) -> Self {
        self.frame.relations.push(Relation {
            rel,
            target_uri: target_uri.into(),
            display_name: Some(display_name.into()),
        });
        self
    }

    /// The frame, priced and digested.
    #[must_use]
    pub fn build(self) -> ContextFrame {
        let content = self.frame.content.as_deref();
        let content_digest = content.map(|it| sha256(it.as_bytes()).into());
        ContextFrame {
            token_cost: content.map_or(0, budget_tokens),
            content_digest,
            ..self.frame
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FrameBuilder;
    use crate::wire::frame::{ContentRef, ContextFrame, FrameKind, Rel, Transform};
    use crate::wire::rules::check_frame;
    use crate::wire::time::Timestamp;

    fn handle() -> ContentRef {
        ContentRef {
            provider_id: "docs".to_owned(),
            uri: "handle:1".to_owned(),
            expires_at: None,
        }
    }

    #[track_caller]
    fn honest(frame: &ContextFrame, cost: u32, canonical: Option<u32>) {
        assert_eq!(check_frame(frame), []);
        assert_eq!(
            (frame.token_cost, frame.canonical_token_cost),
            (cost, canonical)
        );
    }

    #[test]
    fn every_representation_keeps_its_rules() {
        let builder = || FrameBuilder::new("a", FrameKind::Doc, "T", "short text");
        let transform = Transform {
            method: "summary".to_owned(),
            implementation: "hand".to_owned(),
            version: "1".to_owned(),
        };
        honest(&builder().build(), 3, None);
        honest(
            &builder()
                .compact("the long text", transform, handle())
                .build(),
            3,
            Some(4),
        );
        honest(&builder().reference(handle()).build(), 0, Some(3));
    }

    #[test]
    fn everything_that_can_be_said() {
        let at = Timestamp::parse("2026-01-31T00:00:00Z").unwrap();
        let frame = FrameBuilder::new("a", FrameKind::Doc, "T", "text")
            .uri("file:///a.md")
            .valid_from(&at)
            .valid_to(&at)
            .recorded_at(&at)
            .source_file(
                "file:///a.md",
                Some("L1-2".to_owned()),
                crate::digest::sha256(b"x"),
            )
            .derived("chunk", "docs")
            .relation(Rel::DocDocuments, "file:///b.rs", "b.rs")
            .build();
        honest(&frame, 1, None);
        assert_eq!(frame.citation_label.as_deref(), Some("T"));
        assert_eq!(frame.provenance.len(), 2);
    }

    #[test]
    fn scores_stay_in_range() {
        for (given, kept) in [(2.0, 1.0), (-1.0, 0.0), (f32::NAN, 0.0), (0.3, 0.3)] {
            let frame = FrameBuilder::new("a", FrameKind::Doc, "T", "")
                .score(given)
                .build();
            assert_eq!(frame.score, kept);
        }
    }
}
