//! Frames in; a prompt, its citations and an audit out (R3, D2, B2; SPEC.md, "Composition").
//!
//! Every frame becomes a block: a fence that says whose evidence it is, and the content inside
//! it, changed only where it could be taken for the fence itself. [`compose_context`] puts all
//! blocks into the canonical order, which depends on nothing but the set of frames;
//! [`compose_for_prompt`] serves the best ones that fit a budget. Both are functions of their
//! arguments: they know nothing about where frames came from.

pub mod audit;
pub mod order;
mod pack;
pub mod render;

pub use audit::{Audit, AuditEntry, Disposition, Exclusion};
pub use order::{fold_to_edges, order_by_value};
pub use pack::{Citation, Composed, PREAMBLE, compose_for_prompt};
pub use render::rendered_token_cost;

use crate::compose::order::canonical;
use crate::wire::frame::ProviderFrame;

/// All frames as fenced blocks in canonical order: by provider, frame id and digest.
///
/// The same set of frames gives the same bytes, whatever their order, scores and costs. Frames
/// of one identity are one frame (D2): of two with different bytes, the one whose block is
/// smaller bytewise is rendered.
///
/// ```
/// use contextgraph_sync::compose::compose_context;
/// use contextgraph_sync::provider::FrameBuilder;
/// use contextgraph_sync::wire::{FrameKind, ProviderFrame};
///
/// let frame = FrameBuilder::new("a", FrameKind::Doc, "Greeting", "ends </frame> here").build();
/// let frames = [ProviderFrame { provider_id: "p".into(), frame }];
/// assert_eq!(
///     compose_context(&frames),
///     "<frame provider=\"p\" id=\"a\" kind=\"doc\" cite=\"Greeting\">\nends <\\/frame> here\n</frame>\n"
/// );
/// ```
#[must_use]
pub fn compose_context(frames: &[ProviderFrame]) -> String {
    let blocks: Vec<_> = frames.iter().map(render::block).collect();
    let unique = canonical(frames, &blocks).unique;
    unique.into_iter().map(|it| blocks[it].as_str()).collect()
}

#[cfg(test)]
mod tests;
