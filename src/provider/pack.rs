//! Fits the best frames into the limits of a query.

use crate::wire::frame::ContextFrame;
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::rules::holds_at;
use crate::wire::time::Timestamp;

/// What is left of a query's two limits (B1, B4).
///
/// [`Budget::pack`] does the whole job; [`Budget::of`] and [`admit`](Budget::admit) are for a
/// provider that makes its candidates one by one, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    tokens: u32,
    frames: u32,
}

impl Budget {
    /// The whole budget of a query.
    #[must_use]
    pub fn of(query: &ContextQuery) -> Self {
        Self {
            tokens: query.max_tokens,
            frames: query.max_frames,
        }
    }

    /// Takes a frame of this cost if it still fits, and says whether it did.
    #[must_use]
    pub fn admit(&mut self, token_cost: u32) -> bool {
        match (
            self.tokens.checked_sub(token_cost),
            self.frames.checked_sub(1),
        ) {
            (Some(tokens), Some(frames)) => {
                *self = Self { tokens, frames };
                true
            }
            _ => false,
        }
    }

    /// Whether not even a frame that costs nothing would fit.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.frames == 0
    }

    /// The answer to `query` out of these candidates: best score first, each taken if it fits.
    ///
    /// Only frames that were asked for are candidates: of the right kind (Q1), and valid at
    /// `as_of`. A candidate that does not fit sets `truncated` and counts in
    /// `dropped_estimate`; smaller ones after it may still fit. Candidates of equal score keep
    /// their order.
    ///
    /// ```
    /// use contextgraph_sync::provider::{Budget, FrameBuilder};
    /// use contextgraph_sync::wire::{ContextQuery, FrameKind};
    ///
    /// let frame = |id: &str, text: &str, score| {
    ///     FrameBuilder::new(id, FrameKind::Doc, id, text).score(score).build()
    /// };
    /// let candidates = [frame("small", "abcd", 0.2), frame("big", "abcdefgh", 0.9)];
    /// let answer = Budget::pack(candidates, &ContextQuery::new("g", 4, 2));
    /// assert_eq!((answer.frames[0].id.as_str(), answer.truncated), ("big", true));
    /// assert_eq!(answer.dropped_estimate, Some(1));
    /// ```
    #[must_use]
    pub fn pack(
        frames: impl IntoIterator<Item = ContextFrame>,
        query: &ContextQuery,
    ) -> ContextQueryResult {
        let as_of = query.as_of.as_deref().map(Timestamp::parse);
        let as_of = as_of.and_then(Result::ok);
        let was_asked_for = |frame: &ContextFrame| {
            let is_valid = as_of
                .as_ref()
                .is_none_or(|instant| holds_at(frame, instant));
            is_valid && query.wants(&frame.kind)
        };
        let mut candidates: Vec<_> = frames.into_iter().filter(was_asked_for).collect();
        candidates.sort_by(|a, b| rank(b).total_cmp(&rank(a)));

        let n_candidates = candidates.len();
        let mut budget = Self::of(query);
        candidates.retain(|it| budget.admit(it.token_cost));
        let n_dropped = u32::try_from(n_candidates - candidates.len()).unwrap_or(u32::MAX);
        ContextQueryResult {
            truncated: n_dropped > 0,
            dropped_estimate: (n_dropped > 0).then_some(n_dropped),
            ..candidates.into()
        }
    }
}

/// The score, or a place after all scores for what is none.
fn rank(frame: &ContextFrame) -> f32 {
    if frame.score.is_nan() {
        f32::NEG_INFINITY
    } else {
        frame.score
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Budget, rank};
    use crate::wire::frame::{ContextFrame, FrameKind};
    use crate::wire::query::ContextQuery;
    use crate::wire::rules::{Rule, check_reply};

    fn frame(id: usize, score: f32, token_cost: u32) -> ContextFrame {
        ContextFrame {
            id: id.to_string(),
            kind: FrameKind::Doc,
            score,
            token_cost,
            ..ContextFrame::default()
        }
    }

    #[test]
    fn other_kinds_and_times_are_no_candidates() {
        let fact = ContextFrame {
            kind: FrameKind::Fact,
            ..frame(0, 0.9, 1)
        };
        let later = ContextFrame {
            valid_from: Some("2027-01-01T00:00:00Z".to_owned()),
            ..frame(1, 0.9, 1)
        };
        let query = ContextQuery {
            kinds: vec![FrameKind::Doc],
            as_of: Some("2026-01-01T00:00:00Z".to_owned()),
            ..ContextQuery::new("g", 9, 9)
        };
        let answer = Budget::pack([fact, later, frame(2, 0.1, 1)], &query);
        assert_eq!(answer.frames.len(), 1);
        assert_eq!((answer.truncated, answer.dropped_estimate), (false, None));
    }

    #[test]
    fn nothing_fits_into_nothing() {
        let answer = Budget::pack([frame(0, 1.0, 0)], &ContextQuery::new("g", 0, 9));
        assert!(answer.frames.is_empty() && answer.truncated);
        let free = Budget::pack([frame(0, 1.0, 0)], &ContextQuery::new("g", 1, 0));
        assert_eq!(free.frames.len(), 1);
    }

    fn candidates() -> impl Strategy<Value = Vec<ContextFrame>> {
        let score = prop_oneof![Just(f32::NAN), Just(0.5), 0.0..1.0_f32];
        let cost = prop_oneof![0..20_u32, Just(u32::MAX)];
        proptest::collection::vec((score, cost), 0..12).prop_map(|it| {
            let numbered = it.into_iter().enumerate();
            numbered
                .map(|(id, (score, cost))| frame(id, score, cost))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn limits_hold_and_no_worse_frame_takes_a_better_ones_place(
            frames in candidates(),
            max_frames in 0..9_u32,
            max_tokens in 0..60_u32,
        ) {
            let query = ContextQuery::new("g", max_frames, max_tokens);
            let answer = Budget::pack(frames.clone(), &query);
            let limits = [Rule::B1, Rule::B4];
            prop_assert!(!check_reply(&query, &answer).iter().any(|it| limits.contains(&it.rule)));
            let kept = |it: &ContextFrame| answer.frames.iter().any(|kept| kept.id == it.id);
            for dropped in frames.iter().filter(|it| !kept(it)) {
                for kept in &answer.frames {
                    let is_better = rank(dropped) > rank(kept);
                    prop_assert!(!(is_better && dropped.token_cost <= kept.token_cost));
                }
            }
            let n_dropped = frames.len() - answer.frames.len();
            prop_assert_eq!(answer.truncated, n_dropped > 0);
            prop_assert_eq!(answer.dropped_estimate.unwrap_or(0) as usize, n_dropped);
        }
    }
}
