//! One root over all frames of an answer, and the way from each of them to it (F12, F13).
//!
//! The tree has the shape of RFC 6962: the left part of `n` leaves is the largest power of two
//! below `n`. Joining neighbours level by level, an odd one left over rising as it is, gives the
//! same tree, and all proofs for the price of one root.

use sha2::{Digest as _, Sha256};

use crate::attest::commitment::Commitment;
use crate::wire::attestation::{InclusionProof, InclusionStep};
use crate::wire::frame::ContextFrame;
use crate::wire::identity::Digest;

const EMPTY: &[u8] = b"contextgraph/attest/1/merkle-empty";

/// A longer path is refused before any hashing.
pub const MAX_STEPS: usize = 64;

/// The tree over commitments in a given order.
///
/// Building it hashes `2n - 1` times; the root and every proof are then there to be read.
#[derive(Clone, Debug)]
pub struct MerkleTree {
    /// From the leaves to the root; each level has half the nodes of the one below, rounded up.
    levels: Vec<Vec<[u8; 32]>>,
}

impl MerkleTree {
    /// Builds the tree over `leaves` in the order given.
    #[must_use]
    pub fn new(leaves: &[Commitment]) -> Self {
        let mut level: Vec<_> = leaves.iter().map(leaf_hash).collect();
        let mut levels = Vec::new();
        while level.len() > 1 {
            let next = level.chunks(2).map(|it| match it {
                [left, right] => node_hash(left, right),
                odd => odd[0],
            });
            let next = next.collect();
            levels.push(std::mem::replace(&mut level, next));
        }
        levels.push(level);
        Self { levels }
    }

    /// How many leaves there are.
    #[must_use]
    pub fn n_leaves(&self) -> usize {
        self.levels.first().map_or(0, Vec::len)
    }

    /// What a signature over the whole answer is over; an empty answer has a root, too.
    #[must_use]
    pub fn root(&self) -> Commitment {
        let top = self.levels.last().and_then(|it| it.first());
        Commitment::from_bytes(top.map_or_else(|| Sha256::digest(EMPTY).into(), |it| *it))
    }

    /// The way from leaf `index` to the root; none beyond the last leaf.
    #[must_use]
    pub fn proof(&self, index: usize) -> Option<InclusionProof> {
        let n_leaves = self.n_leaves();
        if index >= n_leaves {
            return None;
        }
        let siblings = self
            .levels
            .iter()
            .enumerate()
            .filter_map(|(height, level)| {
                let at = (index >> height) ^ 1;
                let sibling = Digest::from_sha256(level.get(at)?).into();
                Some(InclusionStep {
                    sibling,
                    sibling_is_left: at < index >> height,
                })
            });
        Some(InclusionProof {
            leaf_index: index as u64,
            leaf_count: n_leaves as u64,
            path: siblings.collect(),
        })
    }

    /// The proofs of all leaves, in their order.
    pub fn proofs(&self) -> impl Iterator<Item = InclusionProof> {
        (0..self.n_leaves()).filter_map(|it| self.proof(it))
    }
}

/// The root over commitments in a given order.
#[must_use]
pub fn merkle_root(leaves: &[Commitment]) -> Commitment {
    MerkleTree::new(leaves).root()
}

/// The positions of frames in the order of leaves: by frame id, then by digest, an absent one
/// first; frames of one identity keep the order they have.
///
/// This is the canonical order under one provider name.
#[must_use]
pub fn leaf_order(frames: &[ContextFrame]) -> Vec<usize> {
    let mut order: Vec<_> = (0..frames.len()).collect();
    order.sort_by_key(|&it| (&frames[it].id, &frames[it].content_digest));
    order
}

/// The root that a proof leads to from `leaf`; none if the proof cannot be one.
///
/// Stricter than the protocol asks: the path must be the one that a leaf with this index has
/// among this many leaves, step by step and side by side. All of that is checked before the first
/// hash.
#[must_use]
pub fn recompute_root(leaf: &Commitment, proof: &InclusionProof) -> Option<Commitment> {
    let is_possible = proof.path.len() <= MAX_STEPS && proof.leaf_index < proof.leaf_count;
    let given = proof.path.iter().map(|it| it.sibling_is_left);
    if !is_possible || !given.eq(sides(proof.leaf_index, proof.leaf_count)) {
        return None;
    }
    let mut path = Vec::with_capacity(proof.path.len());
    for step in &proof.path {
        path.push((Commitment::parse(&step.sibling)?, step.sibling_is_left));
    }
    let root = path
        .iter()
        .fold(leaf_hash(leaf), |node, (sibling, is_left)| {
            let sibling = sibling.as_bytes();
            if *is_left {
                node_hash(sibling, &node)
            } else {
                node_hash(&node, sibling)
            }
        });
    Some(Commitment::from_bytes(root))
}

/// On which side the sibling stands at each step from a leaf up: true for left.
fn sides(index: u64, n_leaves: u64) -> impl Iterator<Item = bool> {
    let levels = std::iter::successors(Some((index, n_leaves)), |&(index, n_nodes)| {
        (n_nodes > 1).then_some((index / 2, n_nodes.div_ceil(2)))
    });
    // The last node of an odd level rises without a sibling.
    levels.filter_map(|(index, n_nodes)| {
        let is_right = index % 2 == 1;
        (is_right || index + 1 < n_nodes).then_some(is_right)
    })
}

fn leaf_hash(commitment: &Commitment) -> [u8; 32] {
    Sha256::new()
        .chain_update([0])
        .chain_update(commitment.as_bytes())
        .finalize()
        .into()
}

fn node_hash(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    Sha256::new()
        .chain_update([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

#[cfg(test)]
mod tests;
