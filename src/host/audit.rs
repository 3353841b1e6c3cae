//! Judging an answer (B1–B4, F, D, G, P, Q1): pure, the same for one provider and for many.
//!
//! What is wrong is removed at the smallest size that leaves the rest true. An answer that lies
//! about its cost or floods is dropped whole, judged over all that it carried, before anything
//! was excluded from it.

mod repair;

use crate::codec::{Effect as NoteEffect, Note};
use crate::digest::sha256;
use crate::error::{Error, Result};
use crate::host::Mode;
use crate::wire::attestation::{FrameAttestation, ProvenanceAttestation};
use crate::wire::frame::{ContextFrame, ProvenanceType};
use crate::wire::identity::{Digest, ProviderId};
use crate::wire::query::{ContextQuery, ContextQueryResult};
use crate::wire::rules::{Rule, Violation, check_reply};
use crate::wire::text::shown;

/// What a provider answered, after the audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The evidence that stands, in the provider's order.
    pub frames: Vec<ContextFrame>,
    /// Whether the provider had more.
    pub truncated: bool,
    /// About how many it left out.
    pub dropped_estimate: Option<u32>,
    /// Its signatures, as they came; nothing here has checked them.
    pub frame_attestations: Vec<FrameAttestation>,
    /// Its signature over all it sent, as it came.
    pub result_attestation: Option<ProvenanceAttestation>,
    /// Every broken rule, and what was done about it.
    pub findings: Vec<Finding>,
}

/// A broken rule in an answer that was accepted, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule, the place and the reason. Positions are those of the answer as it was read.
    pub violation: Violation,
    /// The provider's name for the frame, as it came; none if the frame has none or could not
    /// be read.
    pub frame_id: Option<String>,
    /// What was done.
    pub effect: Effect,
}

/// What was done about a broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The frame is not in the answer.
    Excluded,
    /// The member is read as if it were not there.
    ReadAsAbsent,
    /// The edge, or another element of a list, was taken out.
    Removed,
    /// The value was put right (lenient mode).
    Corrected,
    /// Nothing: it is tolerated and reported.
    Kept,
}

impl Effect {
    /// The effect in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Excluded => "frame excluded",
            Self::ReadAsAbsent => "read as absent",
            Self::Removed => "removed",
            Self::Corrected => "corrected",
            Self::Kept => "kept",
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Violation {
            rule,
            member,
            message,
            ..
        } = &self.violation;
        write!(f, "{rule}: ")?;
        if let Some(id) = &self.frame_id {
            write!(f, "frame `{}`: ", shown(id))?;
        }
        if !member.is_empty() {
            write!(f, "{}: ", shown(member))?;
        }
        write!(f, "{message}; {}", self.effect.as_str())
    }
}

/// Judges an answer against its query.
///
/// `notes` is what of the answer could not be read at all; a lost frame counts as one frame (B4).
///
/// # Errors
///
/// In strict mode [`Error::BudgetLie`] (B1), [`Error::CostLie`] (B3) and [`Error::FrameFlood`]
/// (B4): all frames of the answer are dropped (B2).
pub fn audit(
    provider: &ProviderId,
    query: &ContextQuery,
    result: ContextQueryResult,
    notes: &[Note],
    mode: Mode,
) -> Result<Answer> {
    let violations = check_reply(query, &result);
    if mode == Mode::Strict {
        honest(provider, query, &result, notes, &violations)?;
    }
    let mut findings: Vec<_> = notes.iter().map(unreadable).collect();
    let mut frames = Vec::with_capacity(result.frames.len());
    let mut by_frame = violations
        .into_iter()
        .filter(|it| it.frame.is_some())
        .peekable();
    let mut room = Room::of(query);
    for (index, frame) in result.frames.into_iter().enumerate() {
        let of_frame = std::iter::from_fn(|| by_frame.next_if(|it| it.frame == Some(index)));
        let verdict = repair::repair(frame, of_frame.collect(), mode);
        findings.extend(verdict.findings);
        let Some(frame) = verdict.frame else {
            continue;
        };
        findings.extend(other_digest(index, &frame));
        match room.take(&frame) {
            Ok(()) => frames.push(frame),
            // Only in lenient mode: strict mode has refused the whole answer.
            Err(violation) => findings.push(Finding {
                violation: violation.in_frame(index),
                frame_id: Some(frame.id),
                effect: Effect::Excluded,
            }),
        }
    }
    for finding in &findings {
        log::warn!("provider `{provider}`: {finding}");
    }
    Ok(Answer {
        frames,
        truncated: result.truncated,
        dropped_estimate: result.dropped_estimate,
        frame_attestations: result.frame_attestations,
        result_attestation: result.result_attestation,
        findings,
    })
}

/// The lies that cost the whole answer.
fn honest(
    provider: &ProviderId,
    query: &ContextQuery,
    result: &ContextQueryResult,
    notes: &[Note],
    violations: &[Violation],
) -> Result<()> {
    let provider = provider.clone();
    let n_lost = notes.iter().filter(|it| it.is_lost_frame()).count();
    let n_frames = result.frames.len() + n_lost;
    let costs = result.frames.iter().map(|it| u64::from(it.token_cost));
    let claimed_tokens: u64 = costs.sum();
    if claimed_tokens > u64::from(query.max_tokens) {
        return Err(Error::BudgetLie {
            provider,
            claimed_tokens,
            max_tokens: query.max_tokens,
            dropped_frames: n_frames,
        });
    }
    if n_frames as u64 > u64::from(query.max_frames) {
        return Err(Error::FrameFlood {
            provider,
            returned_frames: n_frames,
            max_frames: query.max_frames,
        });
    }
    let lies: Vec<_> = violations
        .iter()
        .filter(|it| it.rule == Rule::B3)
        .cloned()
        .collect();
    if lies.is_empty() {
        return Ok(());
    }
    Err(Error::CostLie {
        provider,
        violations: lies,
        dropped_frames: n_frames,
    })
}

/// What the codec could not read, as a finding.
fn unreadable(note: &Note) -> Finding {
    Finding {
        violation: Violation::new(Rule::Decode, note.member.clone(), note.reason.clone()),
        frame_id: None,
        effect: match note.effect {
            NoteEffect::Excluded(_) if note.is_lost_frame() => Effect::Excluded,
            NoteEffect::Excluded(_) => Effect::Removed,
            NoteEffect::ReadAsAbsent => Effect::ReadAsAbsent,
        },
    }
}

/// A well-formed digest that is not the content's. It is information, not a fault to act on:
/// some providers put the digest of the whole source there (D4).
fn other_digest(index: usize, frame: &ContextFrame) -> Option<Finding> {
    let declared = Digest::parse(frame.content_digest.as_deref()?).ok()?;
    let actual = sha256(frame.content.as_deref()?.as_bytes());
    (declared != actual).then(|| {
        let message = format!("declares {declared}, the inline content has {actual}");
        Finding {
            violation: Violation::new(Rule::D4, "content_digest", message).in_frame(index),
            frame_id: Some(frame.id.clone()),
            effect: Effect::Kept,
        }
    })
}

/// What the two limits leave, for an answer that is cut to them.
struct Room {
    budget: crate::provider::Budget,
    tokens: u32,
}

impl Room {
    fn of(query: &ContextQuery) -> Self {
        Self {
            budget: crate::provider::Budget::of(query),
            tokens: query.max_tokens,
        }
    }

    fn take(&mut self, frame: &ContextFrame) -> Result<(), Violation> {
        if self.budget.admit(frame.token_cost) {
            return Ok(());
        }
        if self.budget.is_spent() {
            return Err(Violation::new(Rule::B4, "", "over the limit of frames"));
        }
        let message = format!("over the limit of {} tokens", self.tokens);
        Err(Violation::new(Rule::B1, "token_cost", message))
    }
}

/// How many `file` links of these frames cannot be verified because they carry no digest (F5).
#[must_use]
pub fn unverifiable_links(frames: &[ContextFrame]) -> usize {
    let links = frames.iter().flat_map(|it| &it.provenance);
    links
        .filter(|it| it.kind == ProvenanceType::File && it.digest.is_none())
        .count()
}

#[cfg(test)]
mod tests;
