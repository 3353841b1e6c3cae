//! What became of every frame that was offered.

use serde::Serialize;

use crate::wire::identity::FrameId;

/// The account of one composition: every offered frame, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    /// Repeated frames first, then the others, best first.
    pub entries: Vec<AuditEntry>,
    /// The tokens the prompt might cost.
    pub budget: u32,
    /// What the preamble costs; it is charged like the rest.
    pub preamble_cost: u32,
    /// What was charged: the preamble and every included frame. 0 if not even the preamble fits.
    pub tokens_used: u32,
}

impl Audit {
    /// How many frames are in the prompt.
    #[must_use]
    pub fn included(&self) -> usize {
        let is_included = |it: &&AuditEntry| matches!(it.disposition, Disposition::Included { .. });
        self.entries.iter().filter(is_included).count()
    }
}

/// What became of one frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// Which frame.
    pub frame: FrameId,
    /// Whether it is in the prompt, and why not.
    #[serde(flatten)]
    pub disposition: Disposition,
}

/// Whether a frame is in the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "disposition", rename_all = "snake_case")]
pub enum Disposition {
    /// It is.
    Included {
        /// The tokens of its block.
        cost: u32,
        /// Whether it carries a digest, so that it can be verified later (D3).
        verifiable: bool,
    },
    /// It is not.
    Excluded {
        /// Why not.
        #[serde(flatten)]
        reason: Exclusion,
    },
}

/// Why a frame is not in the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exclusion {
    /// Another frame stands for the same evidence.
    Duplicate {
        /// The one that was kept.
        kept: FrameId,
    },
    /// It did not fit.
    OverBudget {
        /// The tokens of its block.
        cost: u32,
        /// The tokens that were left when its turn came.
        remaining: u32,
    },
    /// Nothing fits: the preamble alone is over the budget.
    NoRoomForPreamble {
        /// The tokens of its block.
        cost: u32,
    },
}
