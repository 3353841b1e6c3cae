//! The two orders: canonical for stable bytes, by value for a budget; and where the best go.

use crate::wire::frame::ProviderFrame;

/// What sorting frames by identity found.
#[derive(Debug, Default)]
pub(super) struct Canonical {
    /// One position for each identity, in canonical order.
    pub(super) unique: Vec<usize>,
    /// Positions of frames whose identity had come already, each with the one that stands for it.
    pub(super) repeated: Vec<(usize, usize)>,
}

/// Sorts by identity, ties by rendered bytes and then by value, so that neither the prompt nor
/// the audit depends on the order of arrival.
pub(super) fn canonical(frames: &[ProviderFrame], blocks: &[String]) -> Canonical {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by(|&a, &b| {
        let by_block = || blocks[a].cmp(&blocks[b]);
        let by_score = || frames[b].frame.score.total_cmp(&frames[a].frame.score);
        let by_identity = identity(&frames[a]).cmp(&identity(&frames[b]));
        by_identity.then_with(by_block).then_with(by_score)
    });
    let mut found = Canonical::default();
    for index in order {
        match found.unique.last() {
            Some(&first) if identity(&frames[first]) == identity(&frames[index]) => {
                found.repeated.push((index, first));
            }
            _ => found.unique.push(index),
        }
    }
    found
}

/// Positions of the frames, best first: score descending, equal scores in canonical order.
///
/// A score is ordinal inside one provider only (F10); comparing across providers is this
/// host's choice, not a fact about the evidence.
#[must_use]
pub fn order_by_value(frames: &[ProviderFrame]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by(|&a, &b| {
        let by_score = frames[b].frame.score.total_cmp(&frames[a].frame.score);
        by_score.then_with(|| identity(&frames[a]).cmp(&identity(&frames[b])))
    });
    order
}

/// Deals what is ranked best first to the front and the back in turn, so that the best stand at
/// the edges, where models read most carefully.
///
/// ```
/// use contextgraph_sync::compose::fold_to_edges;
///
/// assert_eq!(fold_to_edges([1, 2, 3, 4, 5]), [1, 3, 5, 4, 2]);
/// ```
#[must_use]
pub fn fold_to_edges<T>(ranked: impl IntoIterator<Item = T>) -> Vec<T> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    for (rank, item) in ranked.into_iter().enumerate() {
        if rank % 2 == 0 {
            front.push(item);
        } else {
            back.push(item);
        }
    }
    front.extend(back.into_iter().rev());
    front
}

/// A [`FrameId`](crate::wire::FrameId) without a copy; it orders the same.
fn identity(frame: &ProviderFrame) -> (&str, &str, Option<&str>) {
    let digest = frame.frame.content_digest.as_deref();
    (frame.provider_id.as_str(), &frame.frame.id, digest)
}
