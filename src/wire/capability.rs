//! What a provider says about itself in the handshake (§4 of the protocol).

use serde::{Deserialize, Serialize};

use crate::wire::frame::{FrameKind, Representation};
use crate::wire::lenient::null_is_default;
use crate::wire::scope::EgressScope;

/// A provider's name, version and data flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProviderInfo {
    /// What the provider calls itself; not blank (H2). Attestations are made under it.
    pub name: String,
    /// Its own version; not blank (H2).
    pub version: String,
    /// What happens to the data it sees.
    pub data_flow: DataFlow,
}

impl ProviderInfo {
    /// A provider that reads queries, keeps nothing, and sends nothing off the machine.
    #[must_use]
    pub fn local(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            data_flow: DataFlow {
                reads: true,
                ..DataFlow::default()
            },
        }
    }
}

/// What happens to the data a provider sees; what consent is about (C1–C6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFlow {
    /// It sees workspace content through query payloads.
    #[serde(default, deserialize_with = "null_is_default")]
    pub reads: bool,
    /// It keeps data derived from what it receives: an index, a request log.
    #[serde(default, deserialize_with = "null_is_default")]
    pub writes: bool,
    /// Something leaves the machine, directly or not (C3).
    #[serde(default, deserialize_with = "null_is_default")]
    pub egress: bool,
    /// Where it goes, for every frame; empty means that `egress` alone speaks.
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub egress_scopes: Vec<EgressScope>,
}

impl DataFlow {
    /// The declared scopes that leave the machine, in declaration order.
    pub fn off_machine_scopes(&self) -> impl Iterator<Item = &EgressScope> {
        self.egress_scopes.iter().filter(|it| it.is_off_machine())
    }

    /// Whether anything leaves the machine by this declaration, in either of its two ways.
    #[must_use]
    pub fn leaves_machine(&self) -> bool {
        self.egress || self.off_machine_scopes().next().is_some()
    }
}

/// What a provider can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    /// What it answers queries about.
    #[serde(default, deserialize_with = "null_is_default")]
    pub query: QueryCapability,
    /// It echoes the `id` of a query on the reply, so that several may be in flight (H4).
    #[serde(default, deserialize_with = "null_is_default")]
    pub correlation: bool,
    /// Its frames carry relations, and it honours anchors (G3, G4).
    #[serde(default, deserialize_with = "null_is_default")]
    pub graph: bool,
    /// The embedding space it understands: `<model>/<dimensions>[/<normalization>]` (E1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings_fingerprint: Option<String>,
    /// It answers `verify` (V2).
    #[serde(default, deserialize_with = "null_is_default")]
    pub verify: bool,
    /// Representations it serves; empty means `full` only (P5).
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub representations: Vec<Representation>,
    /// It resolves content handles; required beside `compact` and `reference`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resolve: bool,
}

impl Capabilities {
    /// Serves these kinds and declares nothing else.
    #[must_use]
    pub fn kinds(kinds: impl IntoIterator<Item = FrameKind>) -> Self {
        Self {
            query: QueryCapability {
                kinds: kinds.into_iter().collect(),
            },
            ..Self::default()
        }
    }

    /// Whether the provider may be asked for `representation`; `full` always (P5).
    #[must_use]
    pub fn offers(&self, representation: &Representation) -> bool {
        *representation == Representation::Full || self.representations.contains(representation)
    }
}

/// The query part of [`Capabilities`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryCapability {
    /// Kinds of frame this provider serves.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kinds: Vec<FrameKind>,
}
