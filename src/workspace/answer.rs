//! The second pass: the best files in pieces, and the best pieces as frames.

use crate::digest::file_uri::to_uri;
use crate::digest::range::LineRange;
use crate::digest::sha256;
use crate::provider::FrameBuilder;
use crate::wire::frame::{ContextFrame, FrameKind};
use crate::wire::query::ContextQuery;
use crate::wire::time::Timestamp;
use crate::workspace::outline::{self, Language, Limits, Piece};
use crate::workspace::rank::{self, Statistics};
use crate::workspace::survey::{Found, Question, Survey};
use crate::workspace::{Place, Text, Workspace};

/// Files that are read a second time.
const MAX_FILES: usize = 64;
/// Pieces that one file contributes.
const MAX_PER_FILE: usize = 3;
/// How long a piece is on average, in bytes.
const USUAL_PIECE: f32 = 900.0;
/// A shorter piece is not denser evidence, it only says less.
const SHORT_PIECE: usize = 400;
/// A piece worth less than this share of the best one is not evidence, it is filling.
const WORTH_SHOWING: f32 = 0.3;

/// Everything that may answer, best first.
pub(super) fn candidates(
    workspace: &Workspace,
    query: &ContextQuery,
    question: &Question<'_>,
) -> Vec<ContextFrame> {
    let survey = Survey::of(workspace, question);
    let of_files = survey.statistics();
    let of_pieces = of_files.for_length(USUAL_PIECE, 0.4);
    let limits = limits(query);
    let mut scored = Vec::new();
    let is_wanted = |it: &Found| query.wants(&kind(Language::of(&it.path)));
    for found in survey.best(MAX_FILES, is_wanted) {
        // It was readable a moment ago; if it is not now, it is not evidence any more.
        let read = workspace.read(&workspace.root.join(&found.path), question.as_of);
        if let Ok(Some(text)) = read {
            let of_file = found.weight * of_files.score(&found.tally, found.bytes);
            let pieces = Pieces {
                workspace,
                found: &found,
                text: &text,
            };
            scored.extend(pieces.best(question, &of_pieces, of_file, limits));
        }
    }
    scored.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    let best = scored.first().map_or(0.0, |it| it.score);
    scored.retain(|it| it.score >= best * WORTH_SHOWING);
    scored
}

/// Pieces small enough that a few fit into the budget.
fn limits(query: &ContextQuery) -> Limits {
    let share = query.max_tokens as usize * 4 / 3;
    Limits {
        lines: 100,
        bytes: share.clamp(400, 4_800),
    }
}

fn kind(language: Language) -> FrameKind {
    match language {
        Language::Prose => FrameKind::Doc,
        _ => FrameKind::Snippet,
    }
}

/// One file, about to be cut.
struct Pieces<'a> {
    workspace: &'a Workspace,
    found: &'a Found,
    text: &'a Text,
}

impl Pieces<'_> {
    fn best(
        &self,
        question: &Question<'_>,
        statistics: &Statistics,
        of_file: f32,
        limits: Limits,
    ) -> Vec<ContextFrame> {
        let matcher = question.matcher;
        let language = Language::of(&self.found.path);
        let of_path = matcher.tally_path(&self.found.path);
        let lines = outline::lines(&self.text.content);
        let mut offset = 0;
        let mut next = 0;
        let mut scored: Vec<_> = outline::pieces(language, &lines, limits)
            .into_iter()
            .map(|piece| {
                let skipped: usize = lines[next..piece.first].iter().map(|it| it.len()).sum();
                let length: usize = lines[piece.first..piece.end]
                    .iter()
                    .map(|it| it.len())
                    .sum();
                let start = offset + skipped;
                (offset, next) = (start + length, piece.end);
                let content = &self.text.content[start..start + length];
                let mut tally = matcher.tally(content, language);
                let speaks = !tally.is_empty();
                matcher.add_text(piece.parents(), 2.0, &mut tally);
                tally.add(&of_path);
                let weight =
                    self.found.weight * rank::weight_of_piece(&piece.title, content, question.text);
                let own = weight * statistics.score(&tally, length.max(SHORT_PIECE));
                let score = if speaks {
                    0.75 * own + 0.25 * of_file
                } else {
                    0.0
                };
                (score, piece, content)
            })
            .filter(|(score, ..)| *score > 0.0 || self.found.place == Place::Anchor)
            .collect();
        scored.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        scored.truncate(MAX_PER_FILE);
        // The second and third piece of a file give way to the first of another.
        let shares = [1.0, 0.85, 0.7];
        let frames = scored.into_iter().zip(shares);
        frames
            .map(|((score, piece, content), share)| {
                self.frame(language, self.in_focus(score * share), &piece, content)
            })
            .collect()
    }

    /// What is in focus comes before everything else, what is near it a little sooner.
    fn in_focus(&self, score: f32) -> f32 {
        match self.found.place {
            Place::Anchor => 0.5 + score / 2.0,
            Place::NearAnchor => (score * 1.3).min(1.0) / 2.0,
            Place::Elsewhere => score / 2.0,
            Place::Anywhere => score,
        }
    }

    fn frame(&self, language: Language, score: f32, piece: &Piece, content: &str) -> ContextFrame {
        let path = self.found.path.to_string_lossy();
        let (first, last) = (piece.first + 1, piece.end);
        let range = LineRange::new(first, last).map(|it| it.to_string());
        let uri = to_uri(&self.workspace.root.join(&self.found.path));
        let title = if crate::wire::text::is_blank(&piece.title) {
            &path
        } else {
            piece.title.as_str()
        };
        FrameBuilder::new(
            format!("{path}#L{first}-{last}"),
            kind(language),
            title,
            content,
        )
        .citation_label(format!("{path}:{first}-{last}"))
        .score(score)
        .valid_from(&Timestamp::from_system_time(self.text.modified))
        .source_file(&uri, range, sha256(content.as_bytes()))
        .uri(uri)
        .build()
    }
}
