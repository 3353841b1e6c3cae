//! What asks: registry, consent, fan-out, audit (SPEC.md, "Host").
//!
//! A [`Host`] holds providers and asks them. It decides who may be asked, hands the request to
//! a transport, and judges what comes back. It knows no bytes, sockets or processes.

pub mod audit;
mod consent;
pub mod fan_out;
mod peer;

use std::any::Any;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::host::audit::Answer;
use crate::host::fan_out::FanOut;
use crate::host::peer::Entry;
use crate::provider::ContextProvider;
use crate::transport::Transport;
use crate::transport::local::Local;
#[cfg(unix)]
use crate::transport::stdio::Stdio;
use crate::transport::stdio::StdioCommand;
use crate::wire::capability::{Capabilities, ProviderInfo};
use crate::wire::identity::ProviderId;
use crate::wire::query::ContextQuery;

/// Asks providers for context.
///
/// All methods take `&self`: adding, asking and shutting down may happen on different threads.
/// No call waits longer than its limit in [`HostConfig`], whatever a provider does.
///
/// ```
/// use contextgraph_sync::Host;
/// use contextgraph_sync::provider::{Budget, ContextProvider, FrameBuilder, ProviderError};
/// use contextgraph_sync::wire::{
///     Capabilities, ContextQuery, ContextQueryResult, FrameKind, ProviderInfo,
/// };
///
/// struct Greeter;
///
/// impl ContextProvider for Greeter {
///     fn info(&self) -> ProviderInfo {
///         ProviderInfo::local("greeter", "1.0")
///     }
///
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::kinds([FrameKind::Fact])
///     }
///
///     fn query(&self, query: &ContextQuery) -> Result<ContextQueryResult, ProviderError> {
///         let frame = FrameBuilder::new("hi", FrameKind::Fact, "Greeting", "Say hello first.");
///         Ok(Budget::pack([frame.score(0.9).build()], query))
///     }
/// }
///
/// let host = Host::new();
/// host.register("greeter", Greeter)?;
/// let answer = host.query_provider("greeter", &ContextQuery::new("how do I greet", 4, 600))?;
/// assert_eq!(answer.frames[0].citation_label.as_deref(), Some("Greeting"));
/// # Ok::<(), contextgraph_sync::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Host {
    config: HostConfig,
    entries: RwLock<Vec<Arc<Entry>>>,
}

/// The limits and the temper of a [`Host`].
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// How long one question may take, everything included. 30 s.
    pub call_timeout: Duration,
    /// How long a provider may take to say who it is. 10 s.
    pub handshake_timeout: Duration,
    /// How long shutting down may take, for all providers together. 2 s.
    pub shutdown_grace: Duration,
    /// What happens to evidence that breaks a rule.
    pub mode: Mode,
    /// The embedding space of [`ContextQuery::embedding`]; without it none is ever sent (E1).
    pub embeddings_fingerprint: Option<String>,
}

/// What happens to evidence that breaks a rule. Every violation is reported in both modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// What is wrong is removed, at the smallest size that leaves the rest true.
    #[default]
    Strict,
    /// What can be kept is kept: wrong costs are computed anew, answers over a limit are cut to
    /// it in the provider's own order, scores are taken into 0 to 1, missing labels stay
    /// missing. Frames of another kind or another time are excluded all the same.
    Lenient,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(10),
            shutdown_grace: Duration::from_secs(2),
            mode: Mode::Strict,
            embeddings_fingerprint: None,
        }
    }
}

impl Host {
    /// A host without providers, with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A host without providers.
    #[must_use]
    pub fn with_config(config: HostConfig) -> Self {
        Self {
            config,
            entries: RwLock::default(),
        }
    }

    /// Adds a provider of this process, on a worker thread of its own.
    ///
    /// # Errors
    ///
    /// [`Error::DuplicateProvider`]; [`Error::Declaration`] if it contradicts itself about where
    /// data goes (C5); [`Error::Timeout`] or [`Error::Panicked`] if it does not say who it is.
    pub fn register(
        &self,
        id: impl Into<ProviderId>,
        provider: impl ContextProvider,
    ) -> Result<()> {
        let id = id.into();
        self.check_unknown(&id)?;
        let deadline = Deadline::after(self.config.handshake_timeout);
        let local = Local::open(id.clone(), provider, deadline)?;
        self.add(id, local)
    }

    /// Adds a provider behind any transport, and connects to it.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register), and whatever keeps the transport from connecting within
    /// the handshake limit.
    pub fn add(
        &self,
        id: impl Into<ProviderId>,
        transport: impl Transport + 'static,
    ) -> Result<()> {
        let deadline = Deadline::after(self.config.handshake_timeout);
        self.open(id.into(), Box::new(transport), deadline)
    }

    /// Adds a provider that runs as a child process, and starts it.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register); [`Error::Spawn`] if it cannot be started,
    /// [`Error::NoHandshake`] if it does not say who it is in time, [`Error::Closed`] if it ends
    /// instead.
    #[cfg(unix)]
    pub fn add_stdio(&self, id: impl Into<ProviderId>, command: StdioCommand) -> Result<()> {
        // The limit is that of the start; whoever waits for it waits a little longer.
        const SLACK: Duration = Duration::from_secs(5);
        let id = id.into();
        let limit = command.handshake_limit();
        let limit = limit.unwrap_or(self.config.handshake_timeout);
        let child = Stdio::new(id.clone(), command.handshake_timeout(limit));
        let deadline = Deadline::after(limit.saturating_add(SLACK));
        self.open(id, Box::new(child), deadline)
    }

    /// Adds a provider that runs as a child process: not on this system.
    ///
    /// # Errors
    ///
    /// Always [`Error::Unsupported`].
    #[cfg(not(unix))]
    pub fn add_stdio(&self, id: impl Into<ProviderId>, _: StdioCommand) -> Result<()> {
        Err(Error::Unsupported {
            provider: id.into(),
            what: "a child process",
        })
    }

    fn open(
        &self,
        id: ProviderId,
        transport: Box<dyn Transport>,
        deadline: Deadline,
    ) -> Result<()> {
        self.check_unknown(&id)?;
        let entry = Arc::new(Entry::open(id, transport, deadline)?);
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.iter().any(|it| it.id() == entry.id()) {
            let provider = entry.id().clone();
            // Not under the lock: ending what lost the race may take a moment.
            drop(entries);
            return Err(Error::DuplicateProvider { provider });
        }
        entries.push(entry);
        Ok(())
    }

    /// Takes a provider out and shuts it down.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownProvider`], or what had to be left behind.
    pub fn remove(&self, id: impl Into<ProviderId>) -> Result<()> {
        let entry = self.entry(&id.into())?;
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|it| !Arc::ptr_eq(it, &entry));
        drop(entries);
        entry.shutdown(Deadline::after(self.config.shutdown_grace))
    }

    /// Asks one provider. Blocks until the call limit at the latest.
    ///
    /// The answer has been audited as in a fan-out: what is wrong has been removed and is named
    /// in [`Answer::findings`].
    ///
    /// # Errors
    ///
    /// Whatever kept the provider from answering, and answers that lie about their cost or flood
    /// (B1, B3, B4).
    pub fn query_provider(
        &self,
        id: impl Into<ProviderId>,
        query: &ContextQuery,
    ) -> Result<Answer> {
        let entry = self.entry(&id.into())?;
        entry.ask(
            query,
            &self.config,
            Deadline::after(self.config.call_timeout),
        )
    }

    /// Asks every provider that serves one of the kinds asked for, all at once, and waits for
    /// all of them. Blocks until the call limit at the latest.
    ///
    /// One provider's failure does not touch another. Legs come in registration order.
    #[must_use]
    pub fn query_all(&self, query: &ContextQuery) -> FanOut {
        let entries = self.matching(query);
        let questions = entries.into_iter().map(|entry| (entry, query.clone()));
        self.fan_out(questions.collect())
    }

    /// As [`query_all`](Self::query_all), with `global_budget` split over the providers that
    /// will be asked; `max_tokens` of the query is replaced by each one's share.
    #[must_use]
    pub fn query_all_budgeted(&self, query: &ContextQuery, global_budget: u32) -> FanOut {
        let entries = self.matching(query);
        let may_ask: Vec<_> = entries.iter().map(|it| it.may_be_asked()).collect();
        let n_asked = may_ask.iter().filter(|&&it| it).count();
        let mut shares = fan_out::budget_split(global_budget, n_asked).into_iter();
        let questions = entries.into_iter().zip(may_ask).map(|(entry, may_ask)| {
            let share = if may_ask { shares.next() } else { None };
            let query = ContextQuery {
                max_tokens: share.unwrap_or(0),
                ..query.clone()
            };
            (entry, query)
        });
        self.fan_out(questions.collect())
    }

    /// The ids of all providers, in registration order.
    #[must_use]
    pub fn provider_ids(&self) -> Vec<ProviderId> {
        self.snapshot().iter().map(|it| it.id().clone()).collect()
    }

    /// Who a provider says it is.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownProvider`].
    pub fn info(&self, id: impl Into<ProviderId>) -> Result<ProviderInfo> {
        Ok(self.entry(&id.into())?.peer().info.clone())
    }

    /// What a provider says it can do.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownProvider`].
    pub fn capabilities(&self, id: impl Into<ProviderId>) -> Result<Capabilities> {
        Ok(self.entry(&id.into())?.peer().capabilities.clone())
    }

    /// How many providers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.snapshot().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.snapshot().is_empty()
    }

    /// The providers that are still occupied with a request whose caller has given up.
    #[must_use]
    pub fn stuck(&self) -> Vec<ProviderId> {
        let stuck = self.snapshot().into_iter().filter(|it| it.is_stuck());
        stuck.map(|it| it.id().clone()).collect()
    }

    /// Shuts all providers down, in parallel, and forgets them. Blocks for the grace at most.
    ///
    /// Returns one result per provider in registration order; an error names what had to be left
    /// behind. Calling it again does nothing.
    pub fn shutdown(&self) -> Vec<(ProviderId, Result<()>)> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let entries = std::mem::take(&mut *entries);
        let deadline = Deadline::after(self.config.shutdown_grace);
        thread::scope(|scope| {
            let legs: Vec<_> = entries
                .iter()
                .map(|entry| (entry, scope.spawn(move || entry.shutdown(deadline))))
                .collect();
            let results = legs.into_iter().map(|(entry, leg)| {
                let panicked =
                    |panic: Box<dyn Any + Send>| Err(Error::panicked(entry.id(), &*panic));
                (entry.id().clone(), leg.join().unwrap_or_else(panicked))
            });
            results.collect()
        })
    }

    fn fan_out(&self, questions: Vec<(Arc<Entry>, ContextQuery)>) -> FanOut {
        let deadline = Deadline::after(self.config.call_timeout);
        fan_out::ask_all(&questions, &self.config, deadline)
    }

    fn matching(&self, query: &ContextQuery) -> Vec<Arc<Entry>> {
        let matches = |it: &Arc<Entry>| capability_matches(&it.peer().capabilities, query);
        self.snapshot().into_iter().filter(matches).collect()
    }

    fn snapshot(&self) -> Vec<Arc<Entry>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.clone()
    }

    fn entry(&self, id: &ProviderId) -> Result<Arc<Entry>> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter().find(|it| it.id() == id);
        entry.cloned().ok_or_else(|| Error::UnknownProvider {
            provider: id.clone(),
        })
    }

    fn check_unknown(&self, id: &ProviderId) -> Result<()> {
        match self.entry(id) {
            Ok(_) => Err(Error::DuplicateProvider {
                provider: id.clone(),
            }),
            Err(_) => Ok(()),
        }
    }
}

/// Whether a provider that declares these capabilities is asked in a fan-out: the query wants
/// any kind, or one that is declared.
#[must_use]
pub fn capability_matches(capabilities: &Capabilities, query: &ContextQuery) -> bool {
    let declared = &capabilities.query.kinds;
    query.kinds.is_empty() || query.kinds.iter().any(|kind| declared.contains(kind))
}
