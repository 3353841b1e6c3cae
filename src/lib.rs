//! The Context Graph Protocol (CGP) on threads and blocking IO, without an async runtime.
//!
//! A *host* asks *providers* for context. They answer with *frames*: typed, budgeted, cited
//! pieces of evidence that carry their provenance. The host asks for consent before anything
//! leaves the machine, audits what comes back, and composes it into a prompt as quoted evidence.
//!
//! # Guide
//!
//! A provider implements one trait. It states who it is and what happens to the data it sees,
//! and answers queries within their budget; [`FrameBuilder`](provider::FrameBuilder) and
//! [`Budget::pack`](provider::Budget::pack) do the arithmetic.
//!
//! ```
//! use contextgraph_sync::Host;
//! use contextgraph_sync::compose::compose_for_prompt;
//! use contextgraph_sync::provider::{Budget, ContextProvider, FrameBuilder, ProviderError};
//! use contextgraph_sync::wire::{
//!     Capabilities, ContextQuery, ContextQueryResult, FrameKind, ProviderInfo,
//! };
//!
//! struct Invoices;
//!
//! impl ContextProvider for Invoices {
//!     fn info(&self) -> ProviderInfo {
//!         ProviderInfo::local("invoices", "1.0")
//!     }
//!
//!     fn capabilities(&self) -> Capabilities {
//!         Capabilities::kinds([FrameKind::Fact])
//!     }
//!
//!     fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
//!         let text = "Numbers restart every January.";
//!         let frame = FrameBuilder::new("numbers", FrameKind::Fact, "Invoice numbers", text)
//!             .citation_label("handbook: invoices")
//!             .score(0.8)
//!             .build();
//!         Ok(Budget::pack([frame], query))
//!     }
//! }
//!
//! // The id is the host's own name for it.
//! let host = Host::new();
//! host.register("invoices", Invoices)?;
//!
//! // 8 frames and 600 tokens at most, from all providers that serve what is asked for.
//! let fan_out = host.query_all(&ContextQuery::new("how are invoices numbered", 8, 600));
//! assert_eq!(fan_out.failures().count(), 0);
//!
//! let composed = compose_for_prompt(&fan_out.frames(), 600);
//! assert!(composed.prompt.contains("Numbers restart every January."));
//! assert_eq!(composed.citations[0].label, "handbook: invoices");
//! # Ok::<(), contextgraph_sync::Error>(())
//! ```
//!
//! # Code map
//!
//! | Module | What it holds |
//! |---|---|
//! | [`wire`] | what travels: messages, grammars, the rules that judge them |
//! | [`codec`] | a message to a line and back; what cannot be read is data, not failure |
//! | [`provider`] | what an author links |
//! | [`transport`] | one exchange with a deadline, whatever is at the other end |
//! | [`host`] | what asks: registry, consent, fan-out, audit |
//! | [`compose`] | frames in; prompt, citations and audit out |
//! | [`digest`] | SHA-256, file URIs, line ranges |
//! | `attest` | signatures over provenance: made, checked, trusted (feature) |
//! | `workspace` | a real provider over a directory (feature) |
//! | `cli` | what the binaries do (feature) |
//! | [`clock`] | deadlines; the only module that reads a clock |
//! | [`error`] | what can go wrong for a host, named |
//!
//! # Invariants
//!
//! - `wire` does no IO and knows no clock; `compose` is a function of its arguments.
//! - Every wait has a deadline, every buffer a bound, every thread an owner.
//! - No payload leaves for a provider before `host::consent` has said yes.
//! - One question's answer is never handed to another question.
//! - Text of a provider is escaped wherever a person sees it.
//! - The library prints nothing, installs no logger and contains no `unsafe`.
//!
//! # Features
//!
//! - `workspace` (default): the provider over a directory: `ignore` and `aho-corasick`,
//!   10 crates more.
//! - `cli` (default): the tool `contextgraph`: `lexopt`, `env_logger` and `shell-words`, 6 crates
//!   more.
//! - `attestation`: signing and checking evidence: `ed25519-dalek`, `getrandom` and
//!   `serde_json_canonicalizer`, 12 crates more. It asks `serde_json` for floats exact to the last
//!   bit, for the whole build.
//!
//! Without default features it stands on 27 crates, most of them below `serde` and `sha2`.
//!
//! # Logging
//!
//! Through the `log` facade. `warn`: a peer broke a rule, which is named. `debug`: shook hands,
//! closed, dropped a late answer. Errors are returned, not logged.
//!
//! # Versions
//!
//! Rust 1.90 or newer; a newer one is asked for in a minor release only. What the protocol
//! demands, how it is met and where this crate deviates from the published reference is in
//! `SPEC.md`.
//!
//! # Not here
//!
//! An async interface, a cluster of hosts, an index, embeddings: a provider may have them.

pub mod wire;

pub mod codec;

pub mod clock;
pub mod digest;
pub mod error;

#[cfg(feature = "attestation")]
pub mod attest;

pub mod provider;

pub mod transport;

pub mod host;

pub mod compose;

#[cfg(feature = "workspace")]
pub mod workspace;

#[cfg(feature = "cli")]
pub mod cli;

pub use error::{Error, Result};
pub use host::{Host, HostConfig};
